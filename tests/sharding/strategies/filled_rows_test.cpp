#include "sharding/strategies/filled_rows.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

const TensorTypes rows_of_six = {{{6, 4}}};
const Attributes no_arguments;

std::vector<std::string> filled(StrategyRows rows, const Placements& given) {
  std::vector<std::optional<Placements>> lists = {given};
  std::vector<std::string> texts;
  for (const StrategyRow& row :
       filled_rows(std::move(rows), {rows_of_six, rows_of_six, no_arguments}, lists))
    texts.push_back(to_string(*row.inputs[0]) + "->" + to_string(*row.outputs[0]));
  return texts;
}

using Texts = std::vector<std::string>;

// A rule for shards is used for one kind of shards only, or where nothing is sharded.
TEST(FilledRows, ShardsStandForEveryKindThatTheInputsHave) {
  StrategyRows rows = {rule({Shard(1)}, Shard(1)), rule({Partial()}, Partial())};
  EXPECT_EQ(filled(rows, {Replicate()}), (Texts{"R->R", "P(sum)->P(sum)"}));
  EXPECT_EQ(filled(rows, {Shard(0), StridedShard(0, 2)}),
            (Texts{"R->R", "S(1)->S(1)", "_S(1,2)->_S(1,2)", "P(sum)->P(sum)"}));
}

// A row that splits what nobody has split is lost, or there twice.
TEST(FilledRows, RowsThatSplitAnewAreThereWithoutShards) {
  StrategyRows rows = {splitting_rule({Shard(1)}, Shard(1))};
  EXPECT_EQ(filled(rows, {Partial()}), (Texts{"R->R", "S(1)->S(1)"}));
  EXPECT_EQ(filled(rows, {Shard(0)}), (Texts{"R->R", "S(1)->S(1)"}));
  EXPECT_EQ(filled(rows, {StridedShard(0, 2)}), (Texts{"R->R", "S(1)->S(1)", "_S(1,2)->_S(1,2)"}));
}

// Units of dim 0 are used as units of another dim, or of another length.
TEST(FilledRows, RaggedShardsStayOnDimsZeroOfOneLength) {
  Placement ragged = RaggedShard({1, 2});
  EXPECT_EQ(filled({rule({Shard(0)}, Shard(0)), rule({Shard(1)}, Shard(1))}, {ragged}),
            (Texts{"R->R", "Ragged([1,2])->Ragged([1,2])"}));
  EXPECT_EQ(filled({rule({Shard(0)}, Shard(1))}, {ragged}), Texts{"R->R"});
}

// The rule of replicated tensors is there twice, or not where it was written.
TEST(FilledRows, ReplicatedTensorsHaveOneRow) {
  EXPECT_EQ(filled({rule({Partial()}, Partial()), rule({Replicate()}, Replicate())}, {Shard(0)}),
            (Texts{"P(sum)->P(sum)", "R->R"}));
}

}  // namespace
}  // namespace simmesh
