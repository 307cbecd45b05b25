#include "core/ops/elementwise/pointwise.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/comparison.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

using Inputs = std::vector<Tensor>;

// A wrong slope, sign or sum over broadcast dims of any of these would train another model.
TEST(PointwiseGradients, OfArithmetic) {
  Inputs two = {leaf({2, 3}, 1), leaf({3}, 2)}, apart = {leaf({2, 3}, 1), leaf({3}, 2, 3.0)};
  Inputs three = {leaf({2, 3}, 1), leaf({3}, 2), leaf({2, 1}, 3, 3.0)};
  Inputs positive = {leaf({2, 3}, 1, 2.0), leaf({3}, 2)};
  check_gradients({
      {"add", [](const Inputs& x) { return add(x[0], x[1], 2.5); }, two},
      {"sub", [](const Inputs& x) { return sub(x[1], x[0], 2.5); }, two},
      {"rsub", [](const Inputs& x) { return rsub(x[0], x[1], 2.5); }, two},
      {"rsub of a number", [](const Inputs& x) { return 3 - x[0] * x[0]; }, {two[0]}},
      {"mul", [](const Inputs& x) { return x[0] * x[1]; }, two},
      {"mul by a number", [](const Inputs& x) { return x[0] * 3; }, {two[0]}},
      {"mul by itself", [](const Inputs& x) { return x[0] * x[0]; }, {two[0]}},
      {"div", [](const Inputs& x) { return x[0] / x[1]; }, apart},
      {"number / tensor", [](const Inputs& x) { return 2 / x[0]; }, {apart[1]}},
      {"remainder", [](const Inputs& x) { return remainder(x[0], x[1]); }, apart},
      {"fmod", [](const Inputs& x) { return fmod(x[0], x[1]); }, apart},
      {"pow", [](const Inputs& x) { return pow(x[0], x[1]); }, positive},
      {"pow 3", [](const Inputs& x) { return pow(x[0], 3); }, {two[0]}},
      {"pow 2.5", [](const Inputs& x) { return pow(x[0], 2.5); }, {positive[0]}},
      {"2 to the power", [](const Inputs& x) { return pow(2.0, x[0]); }, {two[0]}},
      {"neg", [](const Inputs& x) { return -x[0] * x[0]; }, {two[0]}},
      {"abs", [](const Inputs& x) { return abs(x[0]) * x[0]; }, {two[0]}},
      {"reciprocal", [](const Inputs& x) { return reciprocal(x[0]); }, {apart[1]}},
      {"lerp", [](const Inputs& x) { return lerp(x[0], x[1], x[2]); }, three},
      {"lerp by a number", [](const Inputs& x) { return lerp(x[0], x[1], 0.75); }, two},
      {"addcmul", [](const Inputs& x) { return addcmul(x[0], x[1], x[2], 0.5); }, three},
      {"addcdiv", [](const Inputs& x) { return addcdiv(x[0], x[1], x[2], 0.5); }, three},
  });
}

TEST(PointwiseGradients, OfElementaryFunctions) {
  Inputs any = {leaf({2, 3}, 1)}, positive = {leaf({2, 3}, 1, 2.0)};
  auto of = [](Tensor (*f)(const Tensor&)) { return [f](const Inputs& x) { return f(x[0]); }; };
  check_gradients({
      {"exp", of(exp), any},
      {"exp2", of(exp2), any},
      {"expm1", of(expm1), any},
      {"log", of(log), positive},
      {"log1p", of(log1p), any},
      {"log2", of(log2), positive},
      {"sqrt", of(sqrt), positive},
      {"rsqrt", of(rsqrt), positive},
      {"sin", of(sin), any},
      {"cos", of(cos), any},
      {"tan", of(tan), any},
      {"sinh", of(sinh), any},
      {"tanh", of(tanh), any},
      {"erf", of(erf), any},
      {"sigmoid", of(sigmoid), any},
      {"floor", of(floor), any},
      {"square", of(square), any},
  });
  check_gradients({{"logaddexp",
                    [](const Inputs& x) { return logaddexp(x[0], x[1]); },
                    {leaf({2, 3}, 1), leaf({3}, 2)}}});
}

TEST(PointwiseGradients, OfActivations) {
  Inputs any = {leaf({3, 4}, 4)};
  auto of = [](Tensor (*f)(const Tensor&)) { return [f](const Inputs& x) { return f(x[0] * 4); }; };
  check_gradients({
      {"relu", of(relu), any},
      {"relu6", of(relu6), any},
      {"hardtanh", [](const Inputs& x) { return hardtanh(x[0] * 3); }, any},
      {"leaky_relu", [](const Inputs& x) { return leaky_relu(x[0], 0.2); }, any},
      {"threshold", [](const Inputs& x) { return threshold(x[0], 0.1, 7.0); }, any},
      {"silu", of(silu), any},
      {"gelu", [](const Inputs& x) { return gelu(x[0]); }, any},
      {"gelu tanh", [](const Inputs& x) { return gelu(x[0], Gelu::tanh); }, any},
      {"softplus", [](const Inputs& x) { return softplus(x[0], {.beta = 2.0}); }, any},
      {"softplus past its threshold",
       [](const Inputs& x) { return softplus(x[0], {.beta = 2.0, .threshold = 0.5}); }, any},
      {"logsigmoid", of(logsigmoid), any},
      {"mish", of(mish), any},
      {"elu", [](const Inputs& x) { return elu(x[0], 1.5); }, any},
      {"hardsigmoid", of(hardsigmoid), any},
      {"hardswish", of(hardswish), any},
  });
}

TEST(PointwiseGradients, OfChoices) {
  Inputs two = {leaf({2, 3}, 1), leaf({3}, 2)};
  Tensor mask = tensor_of<bool>({2, 3}, {true, false, true, false, true, true});
  check_gradients({
      {"maximum", [](const Inputs& x) { return maximum(x[0], x[1]) * x[0]; }, two},
      {"minimum", [](const Inputs& x) { return minimum(x[0], x[1]) * x[0]; }, two},
      {"fmax", [](const Inputs& x) { return fmax(x[0], x[1]); }, two},
      {"fmin", [](const Inputs& x) { return fmin(x[0], x[1]); }, two},
      {"where", [=](const Inputs& x) { return where(mask, x[0], x[1]) * x[0]; }, two},
      {"where of a number", [=](const Inputs& x) { return where(mask, x[0], 2.0); }, {two[0]}},
      {"where from a number", [=](const Inputs& x) { return where(mask, 2.0, x[0]); }, {two[0]}},
      {"clamp", [](const Inputs& x) { return clamp(x[0], -0.5, 0.5); }, {two[0]}},
      {"clamp_min", [](const Inputs& x) { return clamp_min(x[0], x[1]); }, two},
      {"clamp_max", [](const Inputs& x) { return clamp_max(x[0], x[1]); }, two},
      {"clamp between tensors",
       [](const Inputs& x) { return clamp(x[0], x[1], x[2]); },
       {two[0], leaf({3}, 5, -0.5), leaf({3}, 6, 0.5)}},
      {"masked_fill",
       [=](const Inputs& x) { return masked_fill(x[0] * x[0], mask, 3.0); },
       {two[0]}},
      {"masked_fill by a tensor",
       [=](const Inputs& x) { return masked_fill(x[0], mask, x[1]); },
       {two[0], leaf({}, 7)}},
      {"copysign", [](const Inputs& x) { return copysign(x[0], x[1]); }, two},
      {"nan_to_num", [](const Inputs& x) { return nan_to_num(x[0]); }, {two[0]}},
  });
}

}  // namespace
}  // namespace simmesh
