#include "core/ops/elementwise/interpolation.h"

#include <cmath>
#include <type_traits>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

// Rounds the sum and the product together, as PyTorch does.
template <class C>
C plus_product(C x, C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return plus(x, times(a, b));
  else
    return std::fma(a, b, x);
}

// Starts from the end for large weights, so that weight 1 gives the end itself.
template <class C>
C interpolated(C start, C end, C weight) {
  bool near_start = (weight < C(0) ? -weight : weight) < C(0.5);
  return plus_product(near_start ? start : end, near_start ? weight : weight - C(1), end - start);
}

const Op lerp_op =
    pointwise_op({.name = "lerp",
                  .slots = {{attribute::self}, {attribute::tensor}, {attribute::weight}},
                  .loops = floating_loops<3>([](auto start, auto end, auto weight) {
                    return interpolated(start, end, weight);
                  }),
                  .check = [](DType common, const Attributes&) {
                    if (!is_floating_point(common))
                      raise(ErrorKind::not_implemented_error, "lerp",
                            "\"lerp\" not implemented for '{}'", to_string(common));
                  }});

const Op addcmul_op = pointwise_op({.name = "addcmul",
                                    .slots = {{attribute::self},
                                              {attribute::tensor},
                                              {attribute::tensor},
                                              {attribute::value, false, 1}},
                                    .loops = loops<4>([](auto x, auto a, auto b, auto value) {
                                      return plus_product(x, times(value, a), b);
                                    })});

const Op addcdiv_op =
    pointwise_op({.name = "addcdiv",
                  .slots = {{attribute::self},
                            {attribute::tensor},
                            {attribute::tensor},
                            {attribute::value, false, 1}},
                  .loops = floating_loops<4>(
                      [](auto x, auto a, auto b, auto value) { return x + value * a / b; }),
                  .check = [](DType common, const Attributes&) {
                    if (!is_floating_point(common))
                      raise(ErrorKind::runtime_error, "addcdiv",
                            "Integer division with addcdiv is no longer supported");
                  }});

}  // namespace

Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) {
  return call_one(lerp_op, {start, end, weight});
}
Tensor lerp(const Tensor& start, const Tensor& end, Number weight) {
  return call_one(lerp_op, {start, end}, {attribute::weight = weight});
}
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
  return call_one(addcmul_op, {x, a, b}, {attribute::value = value});
}
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
  return call_one(addcdiv_op, {x, a, b}, {attribute::value = value});
}

Tensor& addcmul_(Tensor& self, const Tensor& a, const Tensor& b, Number value) {
  return call_in_place(addcmul_op, self, {self, a, b}, {attribute::value = value});
}

void interpolation_ops(OpList& ops) { ops.add({&lerp_op, &addcmul_op, &addcdiv_op}); }

}  // namespace simmesh
