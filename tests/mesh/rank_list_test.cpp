#include "mesh/rank_list.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "core/check/check.h"
#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::expect_error;
using ::testing::HasSubstr;

// Checks a list against plain vector operations.
void expect_list(const RankList& list, const std::vector<std::int64_t>& ranks) {
  ASSERT_THAT(list.to_vector(), ElementsAreArray(ranks));
  ASSERT_EQ(list.size(), static_cast<std::int64_t>(ranks.size()));
  std::int64_t limit = ranks.empty() ? 3 : *std::max_element(ranks.begin(), ranks.end()) + 3;
  for (std::int64_t rank = -3; rank < limit; ++rank) {
    auto found = std::find(ranks.begin(), ranks.end(), rank);
    std::optional<std::int64_t> index = list.index_of(rank);
    ASSERT_EQ(index.has_value(), found != ranks.end()) << to_string(list) << " rank " << rank;
    if (index) {
      ASSERT_EQ(*index, found - ranks.begin());
    }
  }
  if (ranks.empty()) return;
  ASSERT_EQ(list.min(), *std::min_element(ranks.begin(), ranks.end()));
  ASSERT_EQ(list.max(), *std::max_element(ranks.begin(), ranks.end()));
}

// Every permutation of up to six ranks, in steps of one and with gaps: members, inverse and bounds
// must be those listed.
TEST(RankList, HoldsWhatItIsGiven) {
  expect_list(RankList(), {});
  for (std::vector<std::int64_t> ranks :
       {std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}, std::vector<std::int64_t>{1, 4, 5, 9, 12, 13},
        std::vector<std::int64_t>{2, 3, 7, 8}})
    do expect_list(RankList::of(ranks), ranks);
    while (std::next_permutation(ranks.begin(), ranks.end()));
}

// All placed layouts must be recognised however they are listed: they are what keeps a million
// ranks small.
TEST(RankList, RegularListsShareNothing) {
  std::vector<LayoutDim> dims[] = {{{1000, 1000}}, {{2, 8}, {4, 1}}, {{3, 20}, {2, 10}, {4, 2}},
                                   {{5, -1}},      {{2, 1}, {3, 4}}, {{4, -10}, {3, 2}}};
  for (const std::vector<LayoutDim>& list : dims) {
    Layout layout{gsl::span<const LayoutDim>(list)};
    std::vector<std::int64_t> ranks = layout.offsets();
    for (std::int64_t& rank : ranks) rank += 40 - layout.min_offset();
    RankList made = RankList::of(ranks);
    EXPECT_TRUE(made.regular()) << to_string(layout);
    if (layout.min_offset() == 0) {
      EXPECT_EQ(made, RankList::range(2'000'000).select(40, layout));
    }
    if (ranks.size() < 100) expect_list(made, ranks);
  }
  EXPECT_FALSE(RankList::of({0, 1, 3}).regular());
  EXPECT_FALSE(RankList::of({0, 1, 1000, 1001, 7, 8}).regular());
}

// A list selected from another must equal the same members listed, and hash alike, whatever it
// points into.
TEST(RankList, SelectsMembers) {
  std::vector<RankList> bases = {
      RankList::range(24),
      RankList::of({5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6, 17, 16, 15, 14, 13, 12}),
      RankList::of({0, 2, 4, 6, 1, 3, 5, 7}),
      RankList::of({9, 1, 8, 2, 7, 3, 6, 4, 5, 0, 30, 31, 32, 33}),
  };
  for (const RankList& base : bases)
    for (std::int64_t outer : {1, 2, 3})
      for (std::int64_t inner : {1, 2, 3, 4})
        for (std::int64_t outer_stride : {1, 4, 6})
          for (std::int64_t inner_stride : {1, 2, 3})
            for (std::int64_t start : {0, 1, 5}) {
              Layout layout({{outer, outer_stride}, {inner, inner_stride}});
              if (!layout.injective() || start + layout.max_offset() >= base.size()) continue;
              std::vector<std::int64_t> expected;
              for (std::int64_t offset : layout.offsets()) expected.push_back(base[start + offset]);
              RankList selected = base.select(start, layout);
              expect_list(selected, expected);
              ASSERT_EQ(selected, RankList::of(expected));
              ASSERT_EQ(selected.hash(), RankList::of(expected).hash());
            }
  EXPECT_THROW(RankList::range(4).select(1, Layout::contiguous(4)), ContractViolation);
}

TEST(RankList, DifferentListsDiffer) {
  std::vector<std::int64_t> ranks{0, 1, 2, 3, 5};
  std::vector<RankList> lists;
  do lists.push_back(RankList::of(ranks));
  while (std::next_permutation(ranks.begin(), ranks.end()));
  for (std::size_t i = 0; i < lists.size(); ++i)
    for (std::size_t j = 0; j < lists.size(); ++j) ASSERT_EQ(lists[i] == lists[j], i == j);
  EXPECT_NE(RankList::range(3), RankList::range(4));
  EXPECT_NE(RankList::range(0), RankList::range(1));
}

// Copies and slices of an irregular list of a world must point into it instead of copying it.
TEST(RankList, MillionRanks) {
  RankList world = RankList::range(1'000'000);
  RankList column = world.select(7, Layout({{1000, 1000}}));
  EXPECT_EQ(column[999], 999'007);
  EXPECT_EQ(column.index_of(500'007), 500);
  EXPECT_EQ(column.index_of(500'008), std::nullopt);
  std::vector<std::int64_t> shuffled(1'000'000);
  for (std::int64_t i = 0; i < 1'000'000; ++i)
    shuffled[static_cast<std::size_t>(i)] = i * 388'891 % 1'000'000;
  std::swap(shuffled[3], shuffled[999'999]);
  RankList irregular = RankList::of(shuffled);
  EXPECT_FALSE(irregular.regular());
  EXPECT_EQ(irregular.min(), 0);
  EXPECT_EQ(irregular.max(), 999'999);
  RankList row = irregular.select(5000, Layout::contiguous(1000));
  EXPECT_FALSE(row.regular());
  EXPECT_EQ(row.index_of(shuffled[5123]), 123);
  EXPECT_EQ(row.index_of(shuffled[6000]), std::nullopt);
}

TEST(RankList, TextIsShort) {
  EXPECT_EQ(to_string(RankList()), "[]");
  EXPECT_EQ(to_string(RankList::of({4, 2, 9})), "[4, 2, 9]");
  EXPECT_EQ(to_string(RankList::range(100'000)), "[0, 1, ..., 99999]");
}

TEST(RankList, RefusesWhatIsNoListOfRanks) {
  for (std::vector<std::int64_t> ranks :
       {std::vector<std::int64_t>{0, 0}, std::vector<std::int64_t>{0, 1, 0, 1},
        std::vector<std::int64_t>{3, 5, 4, 3}, std::vector<std::int64_t>{0, -1},
        std::vector<std::int64_t>{std::int64_t{1} << 31}}) {
    expect_error([&] { RankList::of(ranks); }, ErrorKind::value_error, "[mesh/rank_list] expected");
  }
  EXPECT_THROW(RankList::range(-1), Error);
  EXPECT_THROW(RankList::range((std::int64_t{1} << 31) + 1), Error);
  EXPECT_THROW(RankList::range(3).at(3), Error);
  EXPECT_THROW(RankList::range(3).at(-1), Error);
  EXPECT_EQ(RankList::range(3).at(2), 2);
  EXPECT_THROW(RankList().min(), ContractViolation);
}

}  // namespace
}  // namespace simmesh
