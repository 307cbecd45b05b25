#include "core/ops/elementwise/elementary.h"

#include "core/ops/elementwise/pointwise.h"
#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// A rank applies a function to a part where the function isn't defined, or falls.
TEST(ElementaryStrategies, GiveWholeBits) {
  expect_of_curve("exp", exp);
  expect_of_curve("exp2", exp2);
  expect_of_curve("expm1", expm1);
  expect_of_curve("erf", erf);
  expect_of_curve("erfc", erfc);
  expect_of_curve("sigmoid", sigmoid);
  expect_of_curve("floor", floor);
  expect_of_curve("ceil", ceil);
  expect_of_curve("round", round);
  expect_of_curve("trunc", trunc);
  expect_of_curve("log", [](const Tensor& x) { return log(add(mul(x, x), 1)); });
  expect_of_curve("log1p", [](const Tensor& x) { return log1p(mul(x, x)); });
  expect_of_curve("log2", [](const Tensor& x) { return log2(add(mul(x, x), 1)); });
  expect_of_curve("log10", [](const Tensor& x) { return log10(add(mul(x, x), 1)); });
  expect_of_curve("sqrt", [](const Tensor& x) { return sqrt(add(mul(x, x), 1)); });
  expect_of_curve("rsqrt", [](const Tensor& x) { return rsqrt(add(mul(x, x), 1)); });
}

// The largest of two partial largest values isn't that of their sum.
TEST(ElementaryStrategies, OfTwoTensorsGiveWholeBits) {
  expect_of_two("logaddexp", logaddexp);
  expect_of_two(
      "xlogy", [](const Tensor& a, const Tensor& b) { return xlogy(a, add(mul(b, b), 1)); }, false);
}

}  // namespace
}  // namespace simmesh
