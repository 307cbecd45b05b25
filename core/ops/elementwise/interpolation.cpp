#include "core/ops/elementwise/interpolation.h"

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/pointwise_op.h"

namespace simmesh {

namespace {

Tensor weighted(const Tensor& x, Number n) { return n.as<double>() == 1 ? x : mul(x, n); }

// From the end for large weights, so that weight 1 gives the end itself.
template <class C>
C interpolated(C start, C end, C weight) {
  bool near_start = (weight < C(0) ? -weight : weight) < C(0.5);
  return near_start ? start + weight * (end - start) : end - (end - start) * (C(1) - weight);
}

Gradients lerp_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  bool is_tensor = has_input(call, 2);
  if (call.needs(0)) {
    Tensor part =
        is_tensor ? g * (1 - call.input(2)) : g * (1 - number_or(call, "weight", 1).as<double>());
    result[0] = summed_to_input(call, 0, part);
  }
  if (call.needs(1)) {
    Tensor part = is_tensor ? g * call.input(2) : g * number_or(call, "weight", 1);
    result[1] = summed_to_input(call, 1, part);
  }
  if (call.needs(2)) result[2] = summed_to_input(call, 2, g * (call.input(1) - call.input(0)));
  return result;
}

const Op lerp_op = pointwise_op({.name = "lerp",
                                 .slots = {{"self"}, {"end"}, {"weight"}},
                                 .loops = floating_loops<3>([](auto start, auto end, auto weight) {
                                   return interpolated(start, end, weight);
                                 }),
                                 .gradient = lerp_gradient,
                                 .saves = {.inputs = 0b111, .for_others = 0b011},
                                 .check = [](DType common, const Attributes&) {
                                   if (!is_floating_point(common))
                                     raise(ErrorKind::not_implemented_error, "lerp",
                                           "\"lerp\" not implemented for '{}'", to_string(common));
                                 }});

Gradients addcmul_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  Number value = number_or(call, "value", 1);
  if (call.needs(0)) result[0] = summed_to_input(call, 0, g);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, weighted(g * call.input(2), value));
  if (call.needs(2)) result[2] = summed_to_input(call, 2, weighted(g * call.input(1), value));
  return result;
}

const Op addcmul_op =
    pointwise_op({.name = "addcmul",
                  .slots = {{"self"}, {"tensor1"}, {"tensor2"}, {"value", false, 1}},
                  .loops = loops<4>([](auto x, auto a, auto b, auto value) {
                    return plus(x, times(times(value, a), b));
                  }),
                  .gradient = addcmul_gradient,
                  .saves = {.inputs = 0b110, .crosswise = true}});

Gradients addcdiv_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  Number value = number_or(call, "value", 1);
  if (call.needs(0)) result[0] = summed_to_input(call, 0, g);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, weighted(g / call.input(2), value));
  if (call.needs(2)) {
    const Tensor& b = call.input(2);
    result[2] = summed_to_input(call, 2, neg(weighted(g * (call.input(1) / (b * b)), value)));
  }
  return result;
}

const Op addcdiv_op =
    pointwise_op({.name = "addcdiv",
                  .slots = {{"self"}, {"tensor1"}, {"tensor2"}, {"value", false, 1}},
                  .loops = floating_loops<4>(
                      [](auto x, auto a, auto b, auto value) { return x + value * a / b; }),
                  .gradient = addcdiv_gradient,
                  .saves = {.inputs = 0b110},
                  .check = [](DType common, const Attributes&) {
                    if (!is_floating_point(common))
                      raise(ErrorKind::runtime_error, "addcdiv",
                            "Integer division with addcdiv is no longer supported");
                  }});

const Op* const interpolation_list[] = {&lerp_op, &addcmul_op, &addcdiv_op};

}  // namespace

Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) {
  return call_one(lerp_op, {start, end, weight});
}
Tensor lerp(const Tensor& start, const Tensor& end, Number weight) {
  return call_one(lerp_op, {start, end}, {{"weight", weight.attribute()}});
}
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
  return call_one(addcmul_op, {x, a, b}, {{"value", value.attribute()}});
}
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
  return call_one(addcdiv_op, {x, a, b}, {{"value", value.attribute()}});
}

gsl::span<const Op* const> interpolation_ops() { return interpolation_list; }

}  // namespace simmesh
