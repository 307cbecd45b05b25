#include "core/ops/shapes/unfolding.h"

#include <gtest/gtest.h>

#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Windows that overlap need neighbours: their dim is gathered.
TEST(UnfoldingStrategies, WindowsOfEverySplit) {
  expect_whole_bits(
      {.name = "unfold",
       .inputs = {{.shape = {5, 3},
                   .alphabet = shards_and(2, {Partial(ReduceOp::sum), Partial(ReduceOp::min)})}},
       .function = [](Given x) -> Tensors {
         return {unfold(x[0], {.dim = 0, .size = 3, .step = 2})};
       }});
}

}  // namespace
}  // namespace simmesh
