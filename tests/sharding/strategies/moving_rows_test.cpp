#include "sharding/strategies/moving_rows.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

TEST(MovingRows, DimsGoWhereTheyAreAndPartialTensorsPass) {
  TensorTypes inputs = {{{2, 3, 4}, DType::float32}}, outputs(2, inputs[0]);
  Attributes none;
  StrategyRows rows = moving_rows({inputs, outputs, none},
                                  [](std::int64_t dim) { return dim == 1 ? -1 : dim / 2; });
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_TRUE(rows[0].inputs[0]->is_shard(0) && rows[0].outputs[1]->is_shard(0));
  EXPECT_TRUE(rows[1].inputs[0]->is_shard(2) && rows[1].outputs[0]->is_shard(1));
  EXPECT_TRUE(*rows[4].inputs[0] == Partial(ReduceOp::min) &&
              *rows[4].outputs[1] == Partial(ReduceOp::min));
}

TEST(MovingRows, PartialEntriesOfAPatternAreReplaced) {
  StrategyRows rows;
  add_partial_rows(rows, rule({Partial(), Replicate()}, Partial()), {ReduceOp::avg});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(*rows[0].inputs[0] == Partial(ReduceOp::avg));
  EXPECT_TRUE(rows[0].inputs[1]->is_replicate());
  EXPECT_TRUE(*rows[0].outputs[0] == Partial(ReduceOp::avg));
}

}  // namespace
}  // namespace simmesh
