#include "core/ops/indexing/resampling.h"

#include <gtest/gtest.h>

#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

TEST(ResamplingStrategies, ImagesAndChannelsOneByOne) {
  expect_whole_bits(
      {.name = "upsample_nearest",
       .inputs = {values({3, 2, 2}, {Partial(), Partial(ReduceOp::max)})},
       .function = [](Given x) -> Tensors { return {upsample_nearest(x[0], {.size = {5}})}; }});
}

// The dim that is not reversed stays split, at its new place.
TEST(ResamplingStrategies, QuarterTurns) {
  for (std::int64_t k : {-1, 0, 1, 2})
    expect_whole_bits({.name = "rot90",
                       .inputs = {values({3, 4}, {Partial()})},
                       .function = [=](Given x) -> Tensors {
                         return {rot90(x[0], k, Dims{0, 1})};
                       }});
}

}  // namespace
}  // namespace simmesh
