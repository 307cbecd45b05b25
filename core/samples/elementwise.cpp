#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/elementwise/special.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/samples/sample_list.h"

namespace simmesh {

namespace {

using namespace std::string_literals;

// Ops of one tensor without other arguments; the second word is the domain in which they are
// defined.
struct Unary {
  std::string_view op;
  std::string_view inputs;
};
constexpr Unary unary_ops[] = {
    {"relu", "ab"},
    {"silu", "ab"},
    {"log_sigmoid_forward", "ab"},
    {"mish", "ab"},
    {"hardsigmoid", "ab"},
    {"hardswish", "ab"},
    {"exp", "ab"},
    {"exp2", "ab"},
    {"expm1", "ab"},
    {"log", "p:ab"},
    {"log1p", "p:ab"},
    {"log2", "p:ab"},
    {"log10", "p:ab"},
    {"sqrt", "p:ab"},
    {"rsqrt", "p:ab"},
    {"erf", "ab"},
    {"erfc", "ab"},
    {"floor", "ab"},
    {"ceil", "ab"},
    {"round", "ab"},
    {"trunc", "ab"},
    {"sigmoid", "ab"},
    {"neg", "ab"},
    {"abs", "ab"},
    {"sign", "ab"},
    {"sgn", "ab"},
    {"reciprocal", "q:ab"},
    {"sin", "ab"},
    {"cos", "ab"},
    {"tan", "ab"},
    {"asin", "u:ab"},
    {"acos", "u:ab"},
    {"atan", "ab"},
    {"sinh", "ab"},
    {"cosh", "ab"},
    {"tanh", "ab"},
    {"asinh", "ab"},
    {"acosh", "p:ab"},
    {"atanh", "u:ab"},
    {"isnan", "ab"},
    {"isinf", "ab"},
    {"isfinite", "ab"},
    {"logical_not", "ab"},
    {"complex_abs", "ab2"},
    {"complex_conj", "ab2"},
    {"lgamma", "p:ab"},
    {"digamma", "p:ab"},
    {"trigamma", "p:ab"},
    {"frac", "ab"},
    {"signbit", "ab"},
    {"isposinf", "ab"},
    {"isneginf", "ab"},
    {"deg2rad", "ab"},
    {"rad2deg", "ab"},
    {"angle", "ab"},
    {"sinc", "ab"},
    {"i0", "ab"},
    {"special_entr", "p:ab"},
    {"erfinv", "u:ab"},
};

// Ops at the limits of their domain: outside of it the result is NaN or infinite.
constexpr Unary unary_beyond_domain[] = {
    {"log", "ab"},   {"log1p", "ab"}, {"log2", "ab"},       {"log10", "ab"},
    {"sqrt", "ab"},  {"rsqrt", "ab"}, {"asin", "ab"},       {"acos", "ab"},
    {"acosh", "ab"}, {"atanh", "ab"}, {"reciprocal", "ab"},
};

// Ops of integers or bools.
constexpr Unary unary_integer_ops[] = {
    {"neg", "n:ab"},         {"abs", "n:ab"},         {"sign", "n:ab"},
    {"relu", "n:ab"},        {"floor", "n:ab"},       {"bitwise_not", "n:ab"},
    {"bitwise_not", "b:ab"}, {"logical_not", "b:ab"}, {"exp", "n:ab"},
};

constexpr std::string_view broadcasting_ops[] = {
    "eq",          "ne",        "lt",       "le",        "gt",          "ge",
    "add",         "sub",       "rsub",     "mul",       "maximum",     "minimum",
    "fmax",        "fmin",      "atan2",    "hypot",     "logical_and", "logical_or",
    "logical_xor", "logaddexp", "copysign", "heaviside",
};
constexpr std::string_view broadcasting_shapes[] = {"ab ab", "ab b", "a1 ab", "ab .", "b abc"};

constexpr std::string_view integer_pair_ops[] = {"add",        "sub",         "mul", "maximum",
                                                 "minimum",    "eq",          "lt",  "bitwise_and",
                                                 "bitwise_or", "bitwise_xor", "gcd", "lcm"};

std::vector<OpSample> listed_samples() {
  std::vector<OpSample> samples;
  for (const Unary& one : unary_ops) samples.push_back({one.op, one.inputs});
  for (const Unary& one : unary_beyond_domain) samples.push_back({one.op, one.inputs});
  for (const Unary& one : unary_integer_ops) samples.push_back({one.op, one.inputs});
  for (std::string_view op : broadcasting_ops)
    for (std::string_view inputs : broadcasting_shapes) {
      if (inputs == "b abc") inputs = "c abc";
      samples.push_back({op, inputs});
    }
  for (std::string_view op : integer_pair_ops) samples.push_back({op, "n:ab n:ab"});
  return samples;
}

std::vector<OpSample> activation_samples() {
  return {
      {"hardtanh", "ab", {attribute::min_val = -1.0, attribute::max_val = 2.0}},
      {"leaky_relu", "ab", {attribute::negative_slope = 0.25}},
      {"threshold", "ab", {attribute::threshold = 1.0, attribute::value = -8.0}},
      {"gelu", "ab", {attribute::approximate = "none"}},
      {"gelu", "ab", {attribute::approximate = "tanh"}},
      {"sigmoid_backward", "ab u:ab"},
      {"tanh_backward", "ab u:ab"},
      {"threshold_backward", "ab ab", {attribute::threshold = 0.0}},
      {"silu_backward", "ab ab"},
      {"gelu_backward", "ab ab", {attribute::approximate = "none"}},
      {"gelu_backward", "ab ab", {attribute::approximate = "tanh"}},
      {"softplus", "ab", {attribute::beta = 0.5, attribute::threshold = 2.0}},
      {"elu", "ab", {attribute::alpha = 0.5}},
      {"celu", "ab", {attribute::alpha = 0.5}},
      {"hardshrink", "ab", {attribute::lambda = 0.75}},
      {"softshrink", "ab", {attribute::lambda = 0.75}},
      {"logit", "u:ab", {attribute::min = 0.125}},
      {"_prelu_kernel", "ab b"},
      {"nan_to_num",
       "ab",
       {attribute::nan = 0.0, attribute::posinf = 64.0, attribute::neginf = -64.0}},
  };
}

// A number in the place of a tensor, other arguments, and inputs of unlike dtypes.
std::vector<OpSample> arithmetic_samples() {
  return {
      {"add", "ab ab", {attribute::alpha = -2.0}},
      {"sub", "ab b", {attribute::alpha = 2.0}},
      {"add", "ab", {attribute::other = 3.0}},
      {"sub", "ab", {attribute::other = 3.0}},
      {"rsub", "ab", {attribute::other = 3.0}},
      {"mul", "ab", {attribute::other = -2.0}},
      {"mul", "ab", {attribute::other = 2.0}},
      {"eq", "ab", {attribute::other = 1.0}},
      {"lt", "ab", {attribute::other = 1.0}},
      {"maximum", "ab n:ab"},
      {"div", "ab q:ab"},
      {"div", "ab q:b"},
      {"div", "a1 q:ab"},
      {"div", "ab", {attribute::other = -2.0}},
      {"div.Tensor_mode", "ab q:ab", {attribute::rounding_mode = "floor"}},
      {"div.Tensor_mode", "ab q:b", {attribute::rounding_mode = "trunc"}},
      {"div.Tensor_mode", "ab", {attribute::rounding_mode = "trunc", attribute::other = 3.0}},
      {"remainder", "ab p:ab"},
      {"remainder", "ab", {attribute::other = 3.0}},
      {"fmod", "ab p:b"},
      {"pow", "ab", {attribute::exponent = 2.0}},
      {"pow", "ab", {attribute::exponent = 3.0}},
      {"pow.Tensor_Tensor", "p:ab f:b"},
      {"pow.Tensor_Tensor", "- u:ab", {attribute::self = 2.0}},
      {"xlogy", "ab p:b"},
      {"complex_mul", "ab2 ab2"},
      {"complex_mul", "ab2 b2"},
      {"bitwise_and", "b:ab b:b"},
      {"bitwise_or", "n:ab", {attribute::other = std::int64_t(5)}},
      {"_to_copy", "ab", {attribute::dtype = DType::float32}},
      {"_to_copy", "ab", {attribute::dtype = DType::int64}},
      {"_to_copy", "n:ab", {attribute::dtype = DType::float64}},
      {"_to_copy", "b:ab", {attribute::dtype = DType::float64}},
  };
}

std::vector<OpSample> choice_samples() {
  return {
      {"lerp", "ab ab u:ab"},
      {"lerp", "ab b", {attribute::weight = 0.25}},
      {"addcmul", "ab ab b", {attribute::value = 2.0}},
      {"addcdiv", "ab a1 q:ab", {attribute::value = -2.0}},
      {"where", "b:ab f:ab f:ab"},
      {"where", "b:ab f:b f:a1"},
      {"where", "b:ab f:ab", {attribute::other = -1.0}},
      {"where", "b:ab - f:ab", {attribute::self = 2.0}},
      {"clamp", "ab", {attribute::min = -1.0, attribute::max = 2.0}},
      {"clamp", "ab b a1"},
      {"masked_fill", "ab b:ab", {attribute::value = 7.0}},
      {"masked_fill", "ab b:b f:."},
      {"fill", "ab", {attribute::value = 3.0}},
      {"fill", "ab f:."},
      {"copy", "ab f:ab"},
      {"copy", "ab f:b"},
      {"copy", "n:ab f:a1"},
      {"equal", "ab ab"},
      {"_local_scalar_dense", "."},
      {"_local_scalar_dense", "1"},
  };
}

}  // namespace

void elementwise_samples(SampleList& list) {
  list.add(listed_samples());
  list.add(activation_samples());
  list.add(arithmetic_samples());
  list.add(choice_samples());
}

}  // namespace simmesh
