#include "core/ops/elementwise/elementary.h"

#include <cmath>

#include "core/ops/call.h"
#include "core/ops/kernels/function_op.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

const Op exp_op = function_op(Function::exp);
const Op expm1_op = function_op(Function::expm1);
const Op log_op = function_op(Function::log);
const Op log1p_op = function_op(Function::log1p);
const Op log2_op = function_op(Function::log2);
const Op log10_op = function_op(Function::log10);
const Op sqrt_op = function_op(Function::sqrt);
const Op rsqrt_op = function_op(Function::rsqrt);
const Op erf_op = function_op(Function::erf);
const Op erfc_op = function_op(Function::erfc);
const Op sigmoid_op = function_op(Function::sigmoid);

const Op exp2_op = made_op("exp2", double_loops<1>([](double x) { return power(2.0, x); }));

double logaddexp_of(double a, double b) {
  if (a == b && std::isinf(a)) return a;
  double larger = a > b ? a : b;
  double distance = -std::fabs(a - b);
  return larger + apply_function(Function::log1p, apply_function(Function::exp, distance));
}

const Op logaddexp_op = pointwise_op({.name = "logaddexp",
                                      .slots = {{attribute::self}, {attribute::other}},
                                      .result = PointwiseResult::floating,
                                      .in_double = true,
                                      .loops = double_loops<2>(logaddexp_of)});

double xlogy_of(double x, double y) {
  return x == 0 && y == y ? 0 : x * apply_function(Function::log, y);
}

const Op xlogy_op = pointwise_op({.name = "xlogy",
                                  .slots = {{attribute::self}, {attribute::other}},
                                  .result = PointwiseResult::floating,
                                  .in_double = true,
                                  .loops = double_loops<2>(xlogy_of)});

template <class F>
Op rounding_op(const std::string& name, F f) {
  return pointwise_op({.name = name, .loops = loops<1>([f](auto x) {
                                       if constexpr (std::is_integral_v<decltype(x)>)
                                         return x;
                                       else
                                         return f(x);
                                     })});
}
const Op floor_op = rounding_op("floor", [](auto x) { return std::floor(x); });
const Op ceil_op = rounding_op("ceil", [](auto x) { return std::ceil(x); });
const Op round_op = rounding_op("round", [](auto x) { return std::rint(x); });
const Op trunc_op = rounding_op("trunc", [](auto x) { return std::trunc(x); });

}  // namespace

Tensor exp(const Tensor& x) { return call_one(exp_op, {x}); }
Tensor exp2(const Tensor& x) { return call_one(exp2_op, {x}); }
Tensor expm1(const Tensor& x) { return call_one(expm1_op, {x}); }
Tensor log(const Tensor& x) { return call_one(log_op, {x}); }
Tensor log1p(const Tensor& x) { return call_one(log1p_op, {x}); }
Tensor log2(const Tensor& x) { return call_one(log2_op, {x}); }
Tensor log10(const Tensor& x) { return call_one(log10_op, {x}); }
Tensor xlogy(const Tensor& x, const Tensor& y) { return call_one(xlogy_op, {x, y}); }
Tensor logaddexp(const Tensor& a, const Tensor& b) { return call_one(logaddexp_op, {a, b}); }
Tensor sqrt(const Tensor& x) { return call_one(sqrt_op, {x}); }
Tensor rsqrt(const Tensor& x) { return call_one(rsqrt_op, {x}); }
Tensor erf(const Tensor& x) { return call_one(erf_op, {x}); }
Tensor erfc(const Tensor& x) { return call_one(erfc_op, {x}); }
Tensor sigmoid(const Tensor& x) { return call_one(sigmoid_op, {x}); }
Tensor floor(const Tensor& x) { return call_one(floor_op, {x}); }
Tensor ceil(const Tensor& x) { return call_one(ceil_op, {x}); }
Tensor round(const Tensor& x) { return call_one(round_op, {x}); }
Tensor trunc(const Tensor& x) { return call_one(trunc_op, {x}); }

Tensor& floor_(Tensor& self) { return call_in_place(floor_op, self, {self}); }

void elementary_ops(OpList& ops) {
  ops.add({&exp_op, &exp2_op, &expm1_op, &log_op, &log1p_op, &log2_op, &log10_op, &xlogy_op,
           &sqrt_op, &rsqrt_op, &erf_op, &erfc_op, &floor_op, &ceil_op, &round_op, &trunc_op,
           &sigmoid_op, &logaddexp_op});
}

}  // namespace simmesh
