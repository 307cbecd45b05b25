#include "checkpoint/save_load/save_plan.h"

#include <gtest/gtest.h>
#include <numeric>

namespace simmesh::checkpoint {
namespace {

using Items = std::vector<std::vector<std::size_t>>;

SaveItem item_at(const std::string& name, std::int64_t offset, std::int64_t weight) {
  return {name, {{offset}, {1}}, weight};
}

// In all 7^4 ways in which three ranks can hold four boxes, each box is written once, by the holder
// with the least to write.
TEST(SavePlan, GivesEachBoxToTheLightestOfItsHolders) {
  for (int code = 0; code < 7 * 7 * 7 * 7; ++code) {
    int holders[4], rest = code;
    for (int& holder : holders) {
      holder = rest % 7 + 1;
      rest /= 7;
    }
    std::vector<std::vector<SaveItem>> items(3);
    for (int rank = 0; rank < 3; ++rank)
      for (int box = 0; box < 4; ++box)
        if (holders[box] >> rank & 1)
          items[std::size_t(rank)].push_back(item_at("w", box, box + 1));
    std::vector<int> written(4, 0);
    SavePlan plan = plan_save(items);
    ASSERT_EQ(plan.items.size(), 3u);
    for (std::size_t rank = 0; rank < 3; ++rank)
      for (std::size_t item : plan.items[rank])
        ++written[std::size_t(items[rank][item].box.offsets[0])];
    ASSERT_EQ(written, std::vector<int>(4, 1)) << code;
  }
}

TEST(SavePlan, BalancesReplicasInTheOrderOfTheirFirstRank) {
  std::vector<SaveItem> all = {item_at("a", 0, 4), item_at("b", 0, 1), item_at("c", 0, 1),
                               item_at("d", 0, 3)};
  EXPECT_EQ(plan_save({all, all}).items, (Items{{0}, {1, 2, 3}}));
  // The lowest of equal ranks takes a box, and a weight of zero adds no load.
  EXPECT_EQ(plan_save({{item_at("a", 0, 0), item_at("b", 0, 5)},
                       {item_at("a", 0, 0), item_at("b", 0, 5)}})
                .items,
            (Items{{0, 1}, {}}));
}

// PyTorch takes the first in the order of a Python set: of the ranks 2 and 8 the latter.
TEST(SavePlan, ChoosesAmongEqualRanksAsASetDoes) {
  std::vector<std::vector<SaveItem>> items(9);
  items[2] = items[8] = {item_at("a", 0, 1)};
  SavePlan plan = plan_save(items);
  EXPECT_TRUE(plan.items[2].empty());
  EXPECT_EQ(plan.items[8], std::vector<std::size_t>{0});
}

// Boxes differ by name and offsets. A rank that lists a box twice writes it once.
TEST(SavePlan, KnowsBoxesByNameAndOffsets) {
  EXPECT_EQ(plan_save({{item_at("a", 0, 1), item_at("a", 1, 1), item_at("b", 0, 1)}}).items,
            (Items{{0, 1, 2}}));
  EXPECT_EQ(plan_save({{item_at("a", 0, 1), item_at("a", 0, 1)}}).items, (Items{{0}}));
  EXPECT_EQ(plan_save({}).items, Items{});
}

}  // namespace
}  // namespace simmesh::checkpoint
