#include "core/ops/elementwise/backward.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// A slope is found from a part of a partial tensor.
TEST(SlopeStrategies, GiveWholeBits) {
  expect_of_two("sigmoid_backward", sigmoid_backward, false);
  expect_of_two("tanh_backward", tanh_backward, false);
  expect_of_two("silu_backward", silu_backward, false);
  expect_of_two(
      "gelu_backward", [](const Tensor& g, const Tensor& x) { return gelu_backward(g, x); }, false);
  expect_of_two(
      "threshold_backward",
      [](const Tensor& g, const Tensor& x) { return threshold_backward(g, x, 1); }, false);
}

}  // namespace
}  // namespace simmesh
