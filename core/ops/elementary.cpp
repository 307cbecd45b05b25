#include <cmath>
#include <numbers>

#include <simmesh/core/arithmetic/functions.h>
#include <simmesh/core/ops/call.h>
#include <simmesh/core/ops/conversion.h>
#include <simmesh/core/ops/elementary.h>
#include <simmesh/core/ops/factories.h>
#include <simmesh/core/ops/pointwise.h>
#include <simmesh/core/ops/pointwise_op.h>
#include <simmesh/core/tensor/convert.h>

namespace simmesh {

namespace {

using std::numbers::ln2;

TensorTypes floating_type(gsl::span<const TensorType> inputs, const Attributes&) {
  DType dtype = inputs[0].dtype;
  return {{inputs[0].shape, is_floating_point(dtype) ? dtype : DType::float32}};
}

// An op that is one function of functions.h, on whole arrays.
struct FunctionOp {
  Function function;
  GradientRule gradient;
  Saves saves;
};
Op function_op(const FunctionOp& definition) {
  auto kernel = [function = definition.function](gsl::span<const Tensor> inputs, const Attributes&,
                                                 gsl::span<Tensor> outputs) {
    Tensor x = converted(inputs[0].contiguous(), outputs[0].dtype());
    apply_function({.function = function,
                    .dtype = x.dtype(),
                    .operand = x.data(),
                    .result = outputs[0].mutable_data(),
                    .count = x.element_count()});
  };
  return {.name = std::string(to_string(definition.function)),
          .shape = floating_type,
          .kernel = kernel,
          .gradient = definition.gradient,
          .saves = definition.saves};
}

constexpr Saves from_input{.inputs = 1};
constexpr Saves from_output{.outputs = 1};

// A rule that multiplies the gradient by the slope at the input, or in terms of the output.
using Slope = Tensor (*)(const Tensor& saved);
GradientRule by_input(Slope slope) {
  return [slope](const GradientCall& call) -> Gradients {
    return {to(call.gradient() * slope(call.input(0)), call.input_type(0).dtype)};
  };
}
GradientRule by_output(Slope slope) {
  return [slope](const GradientCall& call) -> Gradients {
    return {to(call.gradient() * slope(call.output()), call.input_type(0).dtype)};
  };
}

const Op exp_op =
    function_op({Function::exp, by_output([](const Tensor& y) { return y; }), from_output});
const Op expm1_op =
    function_op({Function::expm1, by_output([](const Tensor& y) { return y + 1; }), from_output});
const Op log_op = function_op(
    {Function::log,
     [](const GradientCall& call) -> Gradients { return {call.gradient() / call.input(0)}; },
     from_input});
const Op log1p_op = function_op(
    {Function::log1p,
     [](const GradientCall& call) -> Gradients { return {call.gradient() / (call.input(0) + 1)}; },
     from_input});
const Op log2_op = function_op({Function::log2,
                                [](const GradientCall& call) -> Gradients {
                                  return {call.gradient() / (call.input(0) * ln2)};
                                },
                                from_input});
const Op tanh_op = function_op(
    {Function::tanh, by_output([](const Tensor& y) { return 1 - y * y; }), from_output});
const Op sigmoid_op = function_op(
    {Function::sigmoid, by_output([](const Tensor& y) { return (1 - y) * y; }), from_output});
const Op erf_op = function_op({Function::erf, by_input([](const Tensor& x) {
                                 return exp(neg(x * x)) * (2 * std::numbers::inv_sqrtpi);
                               }),
                               from_input});
const Op sin_op = function_op({Function::sin, by_input(cos), from_input});
const Op cos_op =
    function_op({Function::cos, by_input([](const Tensor& x) { return neg(sin(x)); }), from_input});
const Op sqrt_op = function_op(
    {Function::sqrt,
     [](const GradientCall& call) -> Gradients { return {call.gradient() / (call.output() * 2)}; },
     from_output});
const Op rsqrt_op = function_op(
    {Function::rsqrt, by_output([](const Tensor& y) { return y * y * y * -0.5; }), from_output});

// Functions that are made of others, in double.
struct MadeOp {
  std::string name;
  ChunkLoops loops;
  GradientRule gradient;
  Saves saves;
};
Op made_op(MadeOp made) {
  return pointwise_op({.name = std::move(made.name),
                       .result = PointwiseResult::floating,
                       .in_double = true,
                       .loops = std::move(made.loops),
                       .gradient = std::move(made.gradient),
                       .saves = made.saves});
}

double sinh_of(double x) {
  double grown = apply_function(Function::expm1, std::fabs(x));
  if (std::isinf(grown)) return std::copysign(grown, x);
  return std::copysign(0.5 * (grown + grown / (grown + 1)), x);
}

const Op exp2_op = made_op({"exp2", double_loops<1>([](double x) { return power(2.0, x); }),
                            by_output([](const Tensor& y) { return y * ln2; }), from_output});
const Op tan_op =
    made_op({"tan", double_loops<1>([](double x) {
               return apply_function(Function::sin, x) / apply_function(Function::cos, x);
             }),
             by_output([](const Tensor& y) { return y * y + 1; }), from_output});
const Op sinh_op =
    made_op({"sinh", double_loops<1>(sinh_of),
             by_input([](const Tensor& x) { return (exp(x) + exp(neg(x))) * 0.5; }), from_input});

double logaddexp_of(double a, double b) {
  if (a == b && std::isinf(a)) return a;
  double larger = a > b ? a : b;
  double distance = -std::fabs(a - b);
  return larger + apply_function(Function::log1p, apply_function(Function::exp, distance));
}

const Op logaddexp_op =
    pointwise_op({.name = "logaddexp",
                  .slots = {{"self"}, {"other"}},
                  .result = PointwiseResult::floating,
                  .in_double = true,
                  .loops = double_loops<2>(logaddexp_of),
                  .gradient =
                      [](const GradientCall& call) {
                        Gradients result(2);
                        Tensor g = call.gradient();
                        Tensor lead = call.input(0) - call.input(1);
                        if (call.needs(0)) result[0] = summed_to_input(call, 0, g * sigmoid(lead));
                        if (call.needs(1))
                          result[1] = summed_to_input(call, 1, g * sigmoid(neg(lead)));
                        return result;
                      },
                  .saves = {.inputs = 0b11}});

// Rounding is flat.
template <class F>
Op rounding_op(std::string name, F f) {
  return pointwise_op({.name = std::move(name),
                       .loops = loops<1>([f](auto x) {
                         if constexpr (std::is_integral_v<decltype(x)>)
                           return x;
                         else
                           return f(x);
                       }),
                       .gradient = [](const GradientCall& call) -> Gradients {
                         return {zeros_like(call.gradient())};
                       }});
}
const Op floor_op = rounding_op("floor", [](auto x) { return std::floor(x); });
const Op ceil_op = rounding_op("ceil", [](auto x) { return std::ceil(x); });
const Op round_op = rounding_op("round", [](auto x) { return std::rint(x); });
const Op trunc_op = rounding_op("trunc", [](auto x) { return std::trunc(x); });

const Op* const elementary_list[] = {&exp_op,   &exp2_op, &expm1_op, &log_op,     &log1p_op,
                                     &log2_op,  &sqrt_op, &rsqrt_op, &sin_op,     &cos_op,
                                     &tan_op,   &sinh_op, &tanh_op,  &sigmoid_op, &erf_op,
                                     &floor_op, &ceil_op, &round_op, &trunc_op,   &logaddexp_op};

}  // namespace

Tensor exp(const Tensor& x) { return call_one(exp_op, {x}); }
Tensor exp2(const Tensor& x) { return call_one(exp2_op, {x}); }
Tensor expm1(const Tensor& x) { return call_one(expm1_op, {x}); }
Tensor log(const Tensor& x) { return call_one(log_op, {x}); }
Tensor log1p(const Tensor& x) { return call_one(log1p_op, {x}); }
Tensor log2(const Tensor& x) { return call_one(log2_op, {x}); }
Tensor logaddexp(const Tensor& a, const Tensor& b) { return call_one(logaddexp_op, {a, b}); }
Tensor sqrt(const Tensor& x) { return call_one(sqrt_op, {x}); }
Tensor rsqrt(const Tensor& x) { return call_one(rsqrt_op, {x}); }
Tensor sin(const Tensor& x) { return call_one(sin_op, {x}); }
Tensor cos(const Tensor& x) { return call_one(cos_op, {x}); }
Tensor tan(const Tensor& x) { return call_one(tan_op, {x}); }
Tensor sinh(const Tensor& x) { return call_one(sinh_op, {x}); }
Tensor tanh(const Tensor& x) { return call_one(tanh_op, {x}); }
Tensor erf(const Tensor& x) { return call_one(erf_op, {x}); }
Tensor sigmoid(const Tensor& x) { return call_one(sigmoid_op, {x}); }
Tensor floor(const Tensor& x) { return call_one(floor_op, {x}); }
Tensor ceil(const Tensor& x) { return call_one(ceil_op, {x}); }
Tensor round(const Tensor& x) { return call_one(round_op, {x}); }
Tensor trunc(const Tensor& x) { return call_one(trunc_op, {x}); }

gsl::span<const Op* const> elementary_ops() { return elementary_list; }

}  // namespace simmesh
