#include "core/ops/elementwise/selection.h"

#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/pointwise.h"
#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// The larger of two least values counts as the least of the larger ones.
TEST(SelectionStrategies, OfTwoTensorsGiveWholeBits) {
  expect_of_two("maximum", maximum);
  expect_of_two("minimum", minimum);
  expect_of_two("fmax", fmax);
  expect_of_two("fmin", fmin);
  expect_of_two("copysign", copysign, false);
  expect_of_two("clamp_min", [](const Tensor& x, const Tensor& b) { return clamp_min(x, b); });
  expect_of_two("clamp_max", [](const Tensor& x, const Tensor& b) { return clamp_max(x, b); });
}

// A bound keeps a part of a sum within it, not the sum.
TEST(SelectionStrategies, OfOneTensorGiveWholeBits) {
  expect_of_one("clamp", [](const Tensor& x) { return clamp(x, -1, 2); });
  expect_of_one("clamp_min", [](const Tensor& x) { return clamp_min(x, 1); });
  expect_of_one("clamp_max", [](const Tensor& x) { return clamp_max(x, 1); });
  expect_of_one("nan_to_num", [](const Tensor& x) { return nan_to_num(x); });
}

// Where the infinities become small numbers, the largest part of a partial tensor isn't the
// largest.
TEST(SelectionStrategies, ReplacedInfinitiesGiveWholeBits) {
  expect_whole_bits(
      {.name = "nan_to_num",
       .inputs = {{.shape = {5}, .alphabet = shards_and(1, {Partial(ReduceOp::max)})}},
       .function =
           [](TensorSpan x) {
             Tensor infinite = div(x[0], mul(relu(x[0]), 0));
             return std::vector<Tensor>{
                 nan_to_num(infinite, {.nan = 2, .positive_infinity = -5, .negative_infinity = 7}),
                 nan_to_num(x[0], {.positive_infinity = 0})};
           },
       .has_gradient = false});
}

// A mask is cut otherwise than its tensor.
TEST(SelectionStrategies, MasksGiveWholeBits) {
  Input mask{.shape = {5, 2},
             .alphabet = shards_and(2),
             .data = {.rule = Rule::boolean, .dtype = DType::boolean}};
  Input input{.shape = {5, 2}, .alphabet = all_kinds(2)};
  auto chosen = [](TensorSpan x) {
    return std::vector<Tensor>{where(x[0], x[1], x[2]), where(x[0], x[1], 3), where(x[0], 2, x[2]),
                               masked_fill(x[1], x[0], 4)};
  };
  expect_whole_bits({.name = "masks", .inputs = {mask, input, input}, .function = chosen}, halves);
}

}  // namespace
}  // namespace simmesh
