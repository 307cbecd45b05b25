#include "core/ops/elementwise/special.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// The function of a part of a partial tensor counts as a part of the function.
TEST(SpecialStrategies, GiveWholeBits) {
  for (auto [name, function] : {std::pair{"frac", &frac}, std::pair{"isposinf", &isposinf},
                                std::pair{"signbit", &signbit}, std::pair{"i0", &i0}}) {
    Call call = call_of_one(name, function, all_kinds(2));
    call.has_gradient = false;
    expect_whole_bits(call);
  }
  expect_of_curve("deg2rad", deg2rad);
  expect_of_curve("hardshrink", [](const Tensor& x) { return hardshrink(x); });
  expect_of_curve("celu", [](const Tensor& x) { return celu(x, 0.5); });
}

}  // namespace
}  // namespace simmesh
