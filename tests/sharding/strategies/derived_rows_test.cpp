#include "sharding/strategies/derived_rows.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

using Texts = std::vector<std::string>;

Texts derived(StrategyRows rows, const Placements& given) {
  std::vector<std::optional<Placements>> lists = {given, std::nullopt};
  Texts texts;
  for (const StrategyRow& row : derived_rows(std::move(rows), lists))
    texts.push_back(to_string(*row.inputs[0]) + "," + to_string(*row.inputs[1]));
  return texts;
}

const Placement whole = Replicate();
const StrategyRows some_rows = {rule({whole, whole}, whole), rule({whole, Partial()}, Partial()),
                                rule({Shard(1), Shard(0)}, Shard(1)),
                                rule({Shard(0), whole}, Shard(0))};

// A row whose partial placement no input has would run an op on a layout that PyTorch never tries.
TEST(DerivedRows, HaveOnlyPartialPlacementsThatAnInputHas) {
  EXPECT_EQ(derived(some_rows, {Partial(ReduceOp::min)}), (Texts{"S(0),R", "S(1),S(0)", "R,R"}));
  EXPECT_EQ(derived(some_rows, {Shard(0), Partial()}),
            (Texts{"S(0),R", "S(1),S(0)", "R,P(sum)", "R,R"}));
}

}  // namespace
}  // namespace simmesh
