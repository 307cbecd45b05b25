#include "core/ops/elementwise/trigonometry.h"

#include "core/ops/elementwise/pointwise.h"
#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// A function that rises and falls is applied to a partial tensor.
TEST(TrigonometryStrategies, GiveWholeBits) {
  expect_of_curve("sin", sin);
  expect_of_curve("cos", cos);
  expect_of_curve("tan", tan);
  expect_of_curve("atan", atan);
  expect_of_curve("sinh", sinh);
  expect_of_curve("cosh", cosh);
  expect_of_curve("tanh", tanh);
  expect_of_curve("asinh", asinh);
  expect_of_curve("asin", [](const Tensor& x) { return asin(div(sign(x), 2)); });
  expect_of_curve("acos", [](const Tensor& x) { return acos(div(sign(x), 2)); });
  expect_of_curve("atanh", [](const Tensor& x) { return atanh(div(sign(x), 2)); });
  expect_of_curve("acosh", [](const Tensor& x) { return acosh(add(mul(x, x), 2)); });
  expect_of_two(
      "atan2", [](const Tensor& y, const Tensor& x) { return atan2(y, add(mul(x, x), 1)); }, false);
  expect_of_two(
      "hypot", [](const Tensor& a, const Tensor& b) { return hypot(add(a, 9), b); }, false);
}

}  // namespace
}  // namespace simmesh
