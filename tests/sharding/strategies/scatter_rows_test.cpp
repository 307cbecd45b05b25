#include "sharding/strategies/scatter_rows.h"

#include <gtest/gtest.h>

#include "core/ops/attribute_names.h"

namespace simmesh {
namespace {

TEST(ScatterRows, SplitDimsThatAllTensorsHaveWhole) {
  Attributes along = {attribute::dim = -1};
  TensorTypes same = {{{4, 5, 3}}, {{4, 2, 2}}, {{4, 5, 2}}}, output = {{{4, 5, 3}}};
  StrategyRows rows = scatter_rows({same, output, along});
  ASSERT_EQ(rows.size(), 1u);
  for (const auto& entry : rows[0].inputs) EXPECT_TRUE(entry->is_shard(0));
  EXPECT_TRUE(rows[0].outputs[0]->is_shard(0));
}

}  // namespace
}  // namespace simmesh
