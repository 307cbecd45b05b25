#include "core/ops/elementwise/activations.h"

#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/kernels/gelu_constants.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

double sigmoid_of(double x) { return apply_function(Function::sigmoid, x); }
double tanh_of(double x) { return apply_function(Function::tanh, x); }
double exp_of(double x) { return apply_function(Function::exp, x); }
double log1p_of(double x) { return apply_function(Function::log1p, x); }

void check_floating(std::string_view op, DType common) {
  if (!is_floating_point(common))
    raise(ErrorKind::not_implemented_error, op, "\"{}\" not implemented for '{}'", op,
          to_string(common));
}

// An op in double, of floating dtypes.
struct Activation {
  std::string name;
  std::vector<PointwiseSlot> slots = {{attribute::self}};
  ChunkLoops loops;
};
Op activation(Activation made) {
  auto check = [name = made.name](DType common, const Attributes&) {
    check_floating(name, common);
  };
  return pointwise_op({.name = std::move(made.name),
                       .slots = std::move(made.slots),
                       .in_double = true,
                       .loops = std::move(made.loops),
                       .check = check});
}

const Op relu_op = pointwise_op({.name = "relu", .loops = loops<1>([](auto x) {
                                                   using C = decltype(x);
                                                   return x != x || x > C(0) ? x : C(0);
                                                 })});

const Op hardtanh_op = pointwise_op(
    {.name = "hardtanh",
     .slots = {{attribute::self}, {attribute::min_val, false}, {attribute::max_val, false}},
     .loops = loops<3>([](auto x, auto min, auto max) {
       return x < min ? min : x > max ? max : x;
     })});

const Op leaky_relu_op = pointwise_op(
    {.name = "leaky_relu",
     .slots = {{attribute::self}, {attribute::negative_slope, false}},
     .loops = floating_loops<2>([](auto x, auto slope) { return x > 0 ? x : x * slope; }),
     .check = [](DType common, const Attributes&) { check_floating("leaky_relu", common); }});

const Op threshold_op = pointwise_op(
    {.name = "threshold",
     .slots = {{attribute::self}, {attribute::threshold, false}, {attribute::value, false}},
     .loops =
         loops<3>([](auto x, auto threshold, auto value) { return x <= threshold ? value : x; })});

const Op silu_op = activation(
    {.name = "silu", .loops = double_loops<1>([](double x) { return x * sigmoid_of(x); })});

const Op gelu_op =
    activation({.name = "gelu", .loops = [](ComputeType, const Attributes& attributes) {
                  if (attributes.get(attribute::approximate) == "tanh")
                    return loop_of<1, double>([](double x) {
                      double inner = gelu_slope * (x + gelu_cubic * (x * x * x));
                      return 0.5 * x * (1 + tanh_of(inner));
                    });
                  return loop_of<1, double>([](double x) {
                    return 0.5 * x * (1 + apply_function(Function::erf, x * sqrt_half));
                  });
                }});

const Op softplus_op = activation(
    {.name = "softplus",
     .slots = {{attribute::self}, {attribute::beta, false}, {attribute::threshold, false}},
     .loops = double_loops<3>([](double x, double beta, double threshold) {
       double scaled = x * beta;
       return scaled > threshold ? x : log1p_of(exp_of(scaled)) / beta;
     })});

const Op logsigmoid_op = activation(
    {.name = "log_sigmoid_forward", .loops = double_loops<1>([](double x) {
                                      double low = x < 0 ? x : 0.0;
                                      return x != x ? x : low - log1p_of(exp_of(-std::fabs(x)));
                                    })});

const Op mish_op = activation({.name = "mish", .loops = double_loops<1>([](double x) {
                                                 double soft = x > 700 ? x : log1p_of(exp_of(x));
                                                 return x * tanh_of(soft);
                                               })});

const Op elu_op = activation({.name = "elu",
                              .slots = {{attribute::self}, {attribute::alpha, false}},
                              .loops = double_loops<2>([](double x, double alpha) {
                                return x > 0 ? x : alpha * apply_function(Function::expm1, x);
                              })});

template <class C>
C hard_sigmoid(C x) {
  C shifted = x + C(3);
  return (shifted < C(0) ? C(0) : shifted > C(6) ? C(6) : shifted) / C(6);
}

const Op hardsigmoid_op = pointwise_op(
    {.name = "hardsigmoid",
     .loops = floating_loops<1>([](auto x) { return hard_sigmoid(x); }),
     .check = [](DType common, const Attributes&) { check_floating("hardsigmoid", common); }});

const Op hardswish_op = pointwise_op(
    {.name = "hardswish",
     .loops = floating_loops<1>([](auto x) {
       using C = decltype(x);
       C shifted = x + C(3);
       return x * (shifted < C(0) ? C(0) : shifted > C(6) ? C(6) : shifted) / C(6);
     }),
     .check = [](DType common, const Attributes&) { check_floating("hardswish", common); }});

}  // namespace

Tensor relu(const Tensor& x) { return call_one(relu_op, {x}); }
Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }
Tensor hardtanh(const Tensor& x, Number min_value, Number max_value) {
  return call_one(hardtanh_op, {x},
                  {attribute::min_val = min_value, attribute::max_val = max_value});
}
Tensor leaky_relu(const Tensor& x, double negative_slope) {
  return call_one(leaky_relu_op, {x}, {attribute::negative_slope = negative_slope});
}
Tensor threshold(const Tensor& x, Number threshold, Number value) {
  return call_one(threshold_op, {x}, {attribute::threshold = threshold, attribute::value = value});
}
Tensor silu(const Tensor& x) { return call_one(silu_op, {x}); }
Tensor gelu(const Tensor& x, Gelu approximate) {
  return call_one(
      gelu_op, {x},
      {attribute::approximate = std::string(approximate == Gelu::tanh ? "tanh" : "none")});
}
Tensor softplus(const Tensor& x, const SoftplusOptions& options) {
  return call_one(softplus_op, {x},
                  {attribute::beta = options.beta, attribute::threshold = options.threshold});
}
Tensor logsigmoid(const Tensor& x) { return call_one(logsigmoid_op, {x}); }
Tensor mish(const Tensor& x) { return call_one(mish_op, {x}); }
Tensor elu(const Tensor& x, double alpha) {
  return call_one(elu_op, {x}, {attribute::alpha = alpha});
}
Tensor hardsigmoid(const Tensor& x) { return call_one(hardsigmoid_op, {x}); }
Tensor hardswish(const Tensor& x) { return call_one(hardswish_op, {x}); }

Tensor& relu_(Tensor& self) { return call_in_place(relu_op, self, {self}); }

void activations_ops(OpList& ops) {
  ops.add({&relu_op, &hardtanh_op, &leaky_relu_op, &threshold_op, &silu_op, &gelu_op, &softplus_op,
           &logsigmoid_op, &mish_op, &elu_op, &hardsigmoid_op, &hardswish_op});
}

}  // namespace simmesh
