#include "core/ops/elementwise/logic.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// The truth of parts of partial tensors is used.
TEST(LogicStrategies, GiveWholeBits) {
  for (auto f : {logical_not, isnan, isinf, isfinite}) expect_of_one("truth", f);
  for (auto f : {logical_and, logical_or, logical_xor}) expect_of_two("truths", f);
}

// The bits of the parts of a sum aren't the bits of the sum.
TEST(LogicStrategies, OfBitsGiveWholeBits) {
  Placements partial =
      shards_and(1, {Partial(ReduceOp::sum), Partial(ReduceOp::max), Partial(ReduceOp::min)});
  Formula data{.rule = Rule::small, .dtype = DType::int64};
  auto bits = [](TensorSpan x) {
    return std::vector<Tensor>{bitwise_and(x[0], x[1]), bitwise_or(x[0], x[1]),
                               bitwise_xor(x[0], 5), bitwise_not(x[1])};
  };
  expect_whole_bits({.name = "bits",
                     .inputs = {{.shape = {5}, .alphabet = partial, .data = data},
                                {.shape = {5}, .alphabet = partial, .data = data}},
                     .function = bits});
}

}  // namespace
}  // namespace simmesh
