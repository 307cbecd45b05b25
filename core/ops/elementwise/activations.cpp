#include <cmath>
#include <limits>
#include <numbers>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/pointwise_op.h"

namespace simmesh {

namespace {

constexpr Saves input_only{.inputs = 1};
constexpr Saves output_only{.outputs = 1};

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
  std::vector<PointwiseSlot> slots = {{"self"}};
  ChunkLoops loops;
  GradientRule gradient;
  Saves saves = input_only;
};
Op activation(Activation made) {
  auto check = [name = made.name](DType common, const Attributes&) {
    check_floating(name, common);
  };
  return pointwise_op({.name = std::move(made.name),
                       .slots = std::move(made.slots),
                       .in_double = true,
                       .loops = std::move(made.loops),
                       .gradient = std::move(made.gradient),
                       .saves = made.saves,
                       .check = check});
}

double number_of(const GradientCall& call, std::string_view name) {
  return number_in(call.attributes(), name)->as<double>();
}

const Op relu_op = pointwise_op({.name = "relu",
                                 .loops = loops<1>([](auto x) {
                                   using C = decltype(x);
                                   return x != x || x > C(0) ? x : C(0);
                                 }),
                                 .gradient = [](const GradientCall& call) -> Gradients {
                                   return {where(gt(call.output(), 0), call.gradient(), 0)};
                                 },
                                 .saves = output_only});

const Op hardtanh_op = pointwise_op({.name = "hardtanh",
                                     .slots = {{"self"}, {"min_val", false}, {"max_val", false}},
                                     .loops = loops<3>([](auto x, auto min, auto max) {
                                       return x < min ? min : x > max ? max : x;
                                     }),
                                     .gradient = [](const GradientCall& call) -> Gradients {
                                       const Tensor& x = call.input(0);
                                       Tensor inside =
                                           logical_and(gt(x, number_of(call, "min_val")),
                                                       lt(x, number_of(call, "max_val")));
                                       return {where(inside, call.gradient(), 0)};
                                     },
                                     .saves = input_only});

const Op leaky_relu_op = pointwise_op(
    {.name = "leaky_relu",
     .slots = {{"self"}, {"negative_slope", false}},
     .loops = floating_loops<2>([](auto x, auto slope) { return x > 0 ? x : x * slope; }),
     .gradient = [](const GradientCall& call) -> Gradients {
       Tensor g = call.gradient();
       return {where(gt(call.input(0), 0), g, g * number_of(call, "negative_slope"))};
     },
     .saves = input_only,
     .check = [](DType common, const Attributes&) { check_floating("leaky_relu", common); }});

const Op threshold_op = pointwise_op(
    {.name = "threshold",
     .slots = {{"self"}, {"threshold", false}, {"value", false}},
     .loops =
         loops<3>([](auto x, auto threshold, auto value) { return x <= threshold ? value : x; }),
     .gradient = [](const GradientCall& call) -> Gradients {
       Tensor below = le(call.input(0), number_of(call, "threshold"));
       return {masked_fill(call.gradient(), below, 0)};
     },
     .saves = input_only});

const Op silu_op = activation({.name = "silu",
                               .loops = double_loops<1>([](double x) { return x * sigmoid_of(x); }),
                               .gradient = [](const GradientCall& call) -> Gradients {
                                 const Tensor& x = call.input(0);
                                 Tensor s = sigmoid(x);
                                 return {call.gradient() * (s * (1 + x * (1 - s)))};
                               }});

constexpr double sqrt_half = 0.70710678118654752440;
// sqrt(2 / pi), and the cubic term of the approximation of gelu by tanh.
constexpr double gelu_slope = 0.79788456080286535588;
constexpr double gelu_cubic = 0.044715;

Tensor gelu_derivative(const Tensor& x) {
  Tensor normal = (erf(x * sqrt_half) + 1) * 0.5;
  Tensor density = exp(x * x * -0.5) * (0.5 * gelu_slope);
  return normal + x * density;
}

Tensor gelu_tanh_derivative(const Tensor& x) {
  Tensor square = x * x;
  Tensor t = tanh((x + x * square * gelu_cubic) * gelu_slope);
  Tensor inner = (square * (3 * gelu_cubic) + 1) * gelu_slope;
  return (t + 1) * 0.5 + x * (1 - t * t) * inner * 0.5;
}

const Op gelu_op = activation(
    {.name = "gelu",
     .loops =
         [](ComputeType, const Attributes& attributes) {
           if (attributes.get<std::string>("approximate") == "tanh")
             return loop_of<1, double>([](double x) {
               double inner = gelu_slope * (x + gelu_cubic * (x * x * x));
               return 0.5 * x * (1 + tanh_of(inner));
             });
           return loop_of<1, double>([](double x) {
             return 0.5 * x * (1 + apply_function(Function::erf, x * sqrt_half));
           });
         },
     .gradient = [](const GradientCall& call) -> Gradients {
       bool is_tanh = call.attributes().get<std::string>("approximate") == "tanh";
       const Tensor& x = call.input(0);
       return {call.gradient() * (is_tanh ? gelu_tanh_derivative(x) : gelu_derivative(x))};
     }});

const Op softplus_op =
    activation({.name = "softplus",
                .slots = {{"self"}, {"beta", false}, {"threshold", false}},
                .loops = double_loops<3>([](double x, double beta, double threshold) {
                  double scaled = x * beta;
                  return scaled > threshold ? x : log1p_of(exp_of(scaled)) / beta;
                }),
                .gradient = [](const GradientCall& call) -> Gradients {
                  Tensor scaled = call.input(0) * number_of(call, "beta");
                  Tensor g = call.gradient();
                  return {where(gt(scaled, number_of(call, "threshold")), g, g * sigmoid(scaled))};
                }});

const Op logsigmoid_op = activation({.name = "log_sigmoid_forward",
                                     .loops = double_loops<1>([](double x) {
                                       double low = x < 0 ? x : 0.0;
                                       return x != x ? x : low - log1p_of(exp_of(-std::fabs(x)));
                                     }),
                                     .gradient = [](const GradientCall& call) -> Gradients {
                                       return {call.gradient() * sigmoid(neg(call.input(0)))};
                                     }});

const Op mish_op = activation({.name = "mish",
                               .loops = double_loops<1>([](double x) {
                                 double soft = x > 700 ? x : log1p_of(exp_of(x));
                                 return x * tanh_of(soft);
                               }),
                               .gradient = [](const GradientCall& call) -> Gradients {
                                 const Tensor& x = call.input(0);
                                 Tensor t = tanh(softplus(x));
                                 return {call.gradient() * (t + x * sigmoid(x) * (1 - t * t))};
                               }});

const Op elu_op = activation({.name = "elu",
                              .slots = {{"self"}, {"alpha", false}},
                              .loops = double_loops<2>([](double x, double alpha) {
                                return x > 0 ? x : alpha * apply_function(Function::expm1, x);
                              }),
                              .gradient = [](const GradientCall& call) -> Gradients {
                                const Tensor& x = call.input(0);
                                Tensor g = call.gradient();
                                Tensor below = exp(clamp_max(x, 0.0)) * number_of(call, "alpha");
                                return {where(gt(x, 0), g, g * below)};
                              }});

template <class C>
C hard_sigmoid(C x) {
  C shifted = x + C(3);
  return (shifted < C(0) ? C(0) : shifted > C(6) ? C(6) : shifted) / C(6);
}

const Op hardsigmoid_op = pointwise_op(
    {.name = "hardsigmoid",
     .loops = floating_loops<1>([](auto x) { return hard_sigmoid(x); }),
     .gradient = [](const GradientCall& call) -> Gradients {
       const Tensor& x = call.input(0);
       Tensor inside = logical_and(gt(x, -3.0), lt(x, 3.0));
       return {where(inside, call.gradient() * (1.0 / 6), 0)};
     },
     .saves = input_only,
     .check = [](DType common, const Attributes&) { check_floating("hardsigmoid", common); }});

const Op hardswish_op = pointwise_op(
    {.name = "hardswish",
     .loops = floating_loops<1>([](auto x) {
       using C = decltype(x);
       C shifted = x + C(3);
       return x * (shifted < C(0) ? C(0) : shifted > C(6) ? C(6) : shifted) / C(6);
     }),
     .gradient = [](const GradientCall& call) -> Gradients {
       const Tensor& x = call.input(0);
       Tensor g = call.gradient();
       Tensor middle = where(le(x, 3.0), g * (x / 3.0 + 0.5), g);
       return {where(lt(x, -3.0), 0, middle)};
     },
     .saves = input_only,
     .check = [](DType common, const Attributes&) { check_floating("hardswish", common); }});

const Op* const activations_list[] = {&relu_op, &hardtanh_op, &leaky_relu_op,  &threshold_op,
                                      &silu_op, &gelu_op,     &softplus_op,    &logsigmoid_op,
                                      &mish_op, &elu_op,      &hardsigmoid_op, &hardswish_op};

}  // namespace

Tensor relu(const Tensor& x) { return call_one(relu_op, {x}); }
Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }
Tensor hardtanh(const Tensor& x, Number min_value, Number max_value) {
  return call_one(hardtanh_op, {x},
                  {{"min_val", min_value.attribute()}, {"max_val", max_value.attribute()}});
}
Tensor leaky_relu(const Tensor& x, double negative_slope) {
  return call_one(leaky_relu_op, {x}, {{"negative_slope", negative_slope}});
}
Tensor threshold(const Tensor& x, Number threshold, Number value) {
  return call_one(threshold_op, {x},
                  {{"threshold", threshold.attribute()}, {"value", value.attribute()}});
}
Tensor silu(const Tensor& x) { return call_one(silu_op, {x}); }
Tensor gelu(const Tensor& x, Gelu approximate) {
  return call_one(gelu_op, {x},
                  {{"approximate", std::string(approximate == Gelu::tanh ? "tanh" : "none")}});
}
Tensor softplus(const Tensor& x, const SoftplusOptions& options) {
  return call_one(softplus_op, {x}, {{"beta", options.beta}, {"threshold", options.threshold}});
}
Tensor logsigmoid(const Tensor& x) { return call_one(logsigmoid_op, {x}); }
Tensor mish(const Tensor& x) { return call_one(mish_op, {x}); }
Tensor elu(const Tensor& x, double alpha) { return call_one(elu_op, {x}, {{"alpha", alpha}}); }
Tensor hardsigmoid(const Tensor& x) { return call_one(hardsigmoid_op, {x}); }
Tensor hardswish(const Tensor& x) { return call_one(hardswish_op, {x}); }

gsl::span<const Op* const> activation_ops() { return activations_list; }

}  // namespace simmesh
