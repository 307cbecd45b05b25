#include "core/ops/elementwise/activations.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// An activation of a part of a partial tensor counts as a part of the activation.
TEST(ActivationStrategies, GiveWholeBits) {
  expect_of_one("relu", relu);
  expect_of_one("relu6", relu6);
  expect_of_curve("silu", silu);
  expect_of_curve("logsigmoid", logsigmoid);
  expect_of_curve("mish", mish);
  expect_of_curve("hardsigmoid", hardsigmoid);
  expect_of_curve("hardswish", hardswish);
  expect_of_one("hardtanh", [](const Tensor& x) { return hardtanh(x, -1, 2); });
  expect_of_one("leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.5); });
  expect_of_curve("gelu", [](const Tensor& x) { return gelu(x); });
  expect_of_curve("gelu tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); });
  expect_of_curve("softplus", [](const Tensor& x) { return softplus(x); });
  expect_of_curve("elu", [](const Tensor& x) { return elu(x); });
}

// With a value above the threshold the largest argument doesn't give the largest result.
TEST(ActivationStrategies, ThresholdsGiveWholeBits) {
  expect_of_one("low", [](const Tensor& x) { return threshold(x, 1, 0); });
  expect_of_one("high", [](const Tensor& x) { return threshold(x, 1, 100); });
}

}  // namespace
}  // namespace simmesh
