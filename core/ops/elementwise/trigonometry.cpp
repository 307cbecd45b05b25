#include "core/ops/elementwise/trigonometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/ops/call.h"
#include "core/ops/kernels/function_op.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

const Op sin_op = function_op(Function::sin);
const Op cos_op = function_op(Function::cos);
const Op tan_op =
    made_op("tan", double_loops<1>([](double x) {
              return apply_function(Function::sin, x) / apply_function(Function::cos, x);
            }));
const Op asin_op = function_op(Function::asin);
const Op acos_op = function_op(Function::acos);
const Op atan_op = function_op(Function::atan);
const Op sinh_op = function_op(Function::sinh);
const Op cosh_op = function_op(Function::cosh);
const Op tanh_op = function_op(Function::tanh);
const Op asinh_op = function_op(Function::asinh);
const Op acosh_op = function_op(Function::acosh);
const Op atanh_op = function_op(Function::atanh);

// Returns the angle of (x, y), from the lesser of the two over the larger.
double atan2_of(double y, double x) {
  constexpr double pi = std::numbers::pi, pi_rest = 0x1.1a62633145c07p-53;
  if (x != x || y != y) return x != x ? x : y;
  double across = std::fabs(x), up = std::fabs(y), angle = 0;
  if (across == up)
    angle = across == 0 ? 0 : pi / 4;
  else if (up <= across)
    angle = apply_function(Function::atan, up / across);
  else
    angle = (pi / 2 - apply_function(Function::atan, across / up)) + pi_rest / 2;
  if (std::signbit(x)) angle = (pi - angle) + pi_rest;
  return std::copysign(angle, y);
}

// Scales by a power of two where the squares could leave the range of double.
double hypot_of(double a, double b) {
  double larger = std::fabs(a), lesser = std::fabs(b);
  if (std::isinf(larger) || std::isinf(lesser)) return std::numeric_limits<double>::infinity();
  if (larger < lesser) std::swap(larger, lesser);
  double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-500 ? 0x1p600 : 1;
  double x = larger * scale, y = lesser * scale;
  return std::sqrt(x * x + y * y) / scale;
}

Op pair_op(std::string name, double (*f)(double, double)) {
  return pointwise_op({.name = std::move(name),
                       .slots = {{attribute::self}, {attribute::other}},
                       .result = PointwiseResult::floating,
                       .in_double = true,
                       .loops = double_loops<2>(f)});
}
const Op atan2_op = pair_op("atan2", atan2_of);
const Op hypot_op = pair_op("hypot", hypot_of);

}  // namespace

Tensor sin(const Tensor& x) { return call_one(sin_op, {x}); }
Tensor cos(const Tensor& x) { return call_one(cos_op, {x}); }
Tensor tan(const Tensor& x) { return call_one(tan_op, {x}); }
Tensor asin(const Tensor& x) { return call_one(asin_op, {x}); }
Tensor acos(const Tensor& x) { return call_one(acos_op, {x}); }
Tensor atan(const Tensor& x) { return call_one(atan_op, {x}); }
Tensor sinh(const Tensor& x) { return call_one(sinh_op, {x}); }
Tensor cosh(const Tensor& x) { return call_one(cosh_op, {x}); }
Tensor tanh(const Tensor& x) { return call_one(tanh_op, {x}); }
Tensor asinh(const Tensor& x) { return call_one(asinh_op, {x}); }
Tensor acosh(const Tensor& x) { return call_one(acosh_op, {x}); }
Tensor atanh(const Tensor& x) { return call_one(atanh_op, {x}); }
Tensor atan2(const Tensor& y, const Tensor& x) { return call_one(atan2_op, {y, x}); }
Tensor hypot(const Tensor& a, const Tensor& b) { return call_one(hypot_op, {a, b}); }

void trigonometry_ops(OpList& ops) {
  ops.add({&sin_op, &cos_op, &tan_op, &asin_op, &acos_op, &atan_op, &atan2_op, &sinh_op, &cosh_op,
           &tanh_op, &asinh_op, &acosh_op, &atanh_op, &hypot_op});
}

}  // namespace simmesh
