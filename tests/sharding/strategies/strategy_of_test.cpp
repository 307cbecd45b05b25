#include "sharding/strategies/strategy_of.h"

#include <gmock/gmock.h>

#include "core/ops/registry/registry.h"

namespace simmesh {
namespace {

// An op was added without saying how it runs on distributed tensors.
TEST(StrategyOf, EveryOpOfTheLibraryHasOne) {
  std::vector<std::string> without;
  for (const Op* op : all_ops())
    if (!strategy_of(*op)) without.push_back(op->name);
  EXPECT_THAT(without, ::testing::IsEmpty());
}

// An op of one's own runs by a strategy of the library, or by none.
TEST(StrategyOf, AnOpOfOnesOwnBringsItsStrategyAlong) {
  Op own{.name = "my::op"};
  EXPECT_EQ(nullptr, strategy_of(own));
  own.strategy = strategy({rule({Shard(0)}, Shard(0))});
  EXPECT_EQ(own.strategy.get(), strategy_of(own));
}

}  // namespace
}  // namespace simmesh
