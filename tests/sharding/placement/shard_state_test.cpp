#include "sharding/placement/shard_state.h"

#include <gtest/gtest.h>

#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

// If this fails, the graph planner confuses shardings, or its plans name others than it found.
TEST(ShardState, DecodesToTheShardingThatWasEncoded) {
  const auto shardings = small_worlds::shardings(3, parse_placements("R,S(0),S(1),P(sum),MaskP"));
  const Sharding all{parse_placements("P(sum),MaskP,NormP(2)"), {}};
  const PlacementCodes codes(all, all, 2);
  ShardStateTable table(3);
  for (std::size_t number = 0; number < shardings.size(); ++number) {
    EXPECT_EQ(codes.decoded(codes.encoded(shardings[number])), shardings[number]);
    EXPECT_EQ(table.number(codes.encoded(shardings[number])), number);
  }
  EXPECT_EQ(table.size(), shardings.size());
}

// If this fails, growing the table loses or renumbers states.
TEST(ShardState, NumbersOutliveGrowth) {
  const auto shardings = small_worlds::shardings(5, parse_placements("R,S(0),S(1),P(sum)"));
  const PlacementCodes codes(shardings.back(), shardings.back(), 2);
  ShardStateTable table(5);
  for (const Sharding& sharding : shardings) table.number(codes.encoded(sharding));
  ASSERT_EQ(table.size(), shardings.size());
  ASSERT_GT(table.size(), 1000u);
  for (std::uint32_t number = 0; number < table.size(); ++number) {
    EXPECT_EQ(table.number(codes.encoded(shardings[number])), number);
    EXPECT_EQ(codes.decoded(table.state(number)), shardings[number]);
  }
}

// If this fails, ops are tried in another order than by name, and ties between plans fall
// differently.
TEST(ShardState, PartialPlacementsAreCodedByName) {
  const Sharding from{parse_placements("P(sum),P(max),R"), {}};
  const Sharding to{parse_placements("P(avg),R,P(product)"), {}};
  const PlacementCodes codes(from, to, 1);
  ASSERT_EQ(codes.size(), 6u);
  EXPECT_EQ(codes.placement(2), Partial(ReduceOp::avg));
  EXPECT_EQ(codes.placement(3), Partial(ReduceOp::max));
  EXPECT_EQ(codes.placement(4), Partial(ReduceOp::product));
  EXPECT_EQ(codes.placement(5), Partial(ReduceOp::sum));
}

}  // namespace
}  // namespace simmesh
