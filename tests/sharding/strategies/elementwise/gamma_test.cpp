#include "core/ops/elementwise/gamma.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// The function of a part of a partial tensor counts as a part of the function.
TEST(GammaStrategies, GiveWholeBits) {
  expect_of_curve("lgamma", [](const Tensor& x) { return lgamma(add(mul(x, x), 0.5)); });
  expect_of_curve("digamma", [](const Tensor& x) { return digamma(add(mul(x, x), 0.5)); });
  Call call = call_of_one(
      "trigamma", [](const Tensor& x) { return trigamma(add(mul(x, x), 0.5)); }, all_kinds(2));
  call.has_gradient = false;
  expect_whole_bits(call);
}

}  // namespace
}  // namespace simmesh
