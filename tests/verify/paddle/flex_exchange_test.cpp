#include "verify/paddle/flex_exchange.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

using checkpoint::FlatRange;
using checkpoint::FlexShard;
using Shards = std::vector<std::vector<FlexShard>>;

FlexShard range_of_w(const Shape& shape, FlatRange range) {
  return {"w", shape, checkpoint::whole(shape), range};
}

std::vector<std::vector<FlexItem>> exchanges_of(const Shards& saved, const Shards& wanted) {
  std::vector<checkpoint::FlexStorage> storage = checkpoint::plan_flex_save(saved, false);
  return flex_exchanges(storage, wanted, checkpoint::plan_flex_load(storage, wanted));
}

// Ranges of a vector are boxes: nothing has to be completed.
TEST(FlexExchange, RangesOfAVectorAreExchangedOnce) {
  auto exchanges = exchanges_of({{range_of_w({6}, {0, 2})}, {range_of_w({6}, {2, 6})}},
                                {{range_of_w({6}, {0, 3})}, {range_of_w({6}, {3, 6})}});
  ASSERT_EQ(exchanges.size(), 2u);
  EXPECT_TRUE(exchanges[0].empty());
  ASSERT_EQ(exchanges[1].size(), 3u);
  EXPECT_EQ(exchanges[1][1].stored_offset, Dims{2});
  EXPECT_EQ(exchanges[1][1].to, Dims{2});
  EXPECT_EQ(exchanges[1][1].sizes, Shape{1});
  EXPECT_EQ(exchanges[1][2].from, Dims{1});
}

// A range that ends within a row lacks the rest of that row's box, which another range has.
TEST(FlexExchange, CompletesTheRowsOfARange) {
  auto exchanges = exchanges_of({{range_of_w({2, 4}, {0, 6})}, {range_of_w({2, 4}, {6, 8})}},
                                {{range_of_w({2, 4}, {0, 8})}, {range_of_w({2, 4}, {0, 0})}});
  ASSERT_EQ(exchanges.size(), 2u);
  // The second range is a box of its own, so that only the first one is completed, by itself.
  ASSERT_EQ(exchanges[0].size(), 1u);
  EXPECT_EQ(exchanges[0][0].key, "w.global_offset.(0, 0)");
  EXPECT_EQ(exchanges[0][0].sizes, Shape{6});
  ASSERT_EQ(exchanges[1].size(), 2u);
  EXPECT_EQ(exchanges[1][0].sizes, (Shape{2, 4}));
  EXPECT_EQ(exchanges[1][1].stored_offset, (Dims{1, 2}));
  EXPECT_EQ(exchanges[1][1].sizes, (Shape{1, 2}));
}

// Boxes are exchanged as they are.
TEST(FlexExchange, BoxesTakeOneExchange) {
  FlexShard whole{"w", {4}, checkpoint::whole(Shape{4}), {}};
  FlexShard half{"w", {4}, {Dims{2}, Shape{2}}, {}};
  auto exchanges = exchanges_of({{whole}}, {{half}});
  ASSERT_EQ(exchanges.size(), 1u);
  ASSERT_EQ(exchanges[0].size(), 1u);
  EXPECT_EQ(exchanges[0][0].from, Dims{2});
  EXPECT_EQ(exchanges[0][0].wanted_offset, Dims{2});
}

}  // namespace
}  // namespace simmesh
