#include "sharding/strategies/table_lookup.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/indexing/gathering.h"
#include "core/tensor/formula.h"
#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using whole_tensor_oracle::distributed;

TEST(TableLookup, TheRowNamesTheTable) {
  TensorTypes inputs = {{{8, 4}}, {{3}, DType::int64}}, outputs = {{{3, 4}}};
  Attributes none;
  StrategyRow row = lookup_row({inputs, outputs, none}, 0);
  EXPECT_TRUE(row.inputs[0]->is_shard(0));
  EXPECT_EQ(to_string(*row.inputs[1]), "MaskP(sum,[8,4],0)");
  EXPECT_EQ(to_string(*row.outputs[0]), "MaskP(sum,[8,4],0)");
}

// The rows of others are zero in a rank's operand, whatever its own rows hold.
TEST(TableLookup, OperandsAreZeroWhereOthersHoldTheRow) {
  World world({.ranks = 3});
  Outcome outcome = world.run([](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({3});
    Tensor whole = formula({4, 2}, {.rule = Rule::positive});
    Tensor indices = formula({6}, {.rule = Rule::index, .below = 4, .dtype = DType::int64});
    DTensor result = embedding(distributed(whole, mesh, {Shard(0)}).as_tensor(),
                               distributed(indices, mesh, {Replicate()}).as_tensor());
    EXPECT_EQ(to_string(PlacementSpan(result.placements())), "MaskP(sum,[4,2],0)");
    auto wanted = indices.values<std::int64_t>();
    const Tensor& local = result.local();
    auto values = local.values<float>();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_EQ(values[2 * i] != 0, wanted[i] / 2 == std::int64_t(rank.id()));
    rank.expect_same_bits(result.full_tensor(), embedding(whole, indices));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// An index that no rank has is refused by all, as on one device.
TEST(TableLookup, IndicesOutOfRangeAreRefused) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    DeviceMesh mesh = init_device_mesh({2});
    Tensor table = formula({4, 2}, {.rule = Rule::small});
    Tensor indices = full({3}, DType::int64, 4);
    EXPECT_THROW(embedding(distributed(table, mesh, {Shard(0)}).as_tensor(),
                           distributed(indices, mesh, {Replicate()}).as_tensor()),
                 Error);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
