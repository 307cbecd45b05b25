#include "replay/analysis/align_comms.h"

#include <gtest/gtest.h>
#include <string_view>

namespace simmesh::replay {

namespace {

// marks_of makes marks with the letters as labels, ten microseconds apart from `begin` on and five
// long; a '.' leaves a time out.
std::vector<CommMark> marks_of(std::string_view letters, double begin) {
  std::vector<CommMark> marks;
  for (char letter : letters) {
    if (letter != '.')
      marks.push_back({.label = std::uint32_t(letter),
                       .leaves_together = letter != 'b',
                       .begin_us = begin,
                       .end_us = begin + 5});
    begin += 10;
  }
  return marks;
}

std::string pairs_of(std::string_view first, std::string_view second, double late_us = 1) {
  std::string text;
  for (auto place : align_comms(marks_of(first, 0), marks_of(second, late_us)))
    text += place ? std::to_string(*place) : "-";
  return text;
}

// Would fail if a rank that lacks a collective shifted those after it.
TEST(ReplayAlignComms, PairsWhatIsLeft) {
  EXPECT_EQ(pairs_of("agag", "agag"), "0123");
  EXPECT_EQ(pairs_of("agag", ".gag"), "123");
  EXPECT_EQ(pairs_of("agag", "a.ag"), "023");
  EXPECT_EQ(pairs_of("ag", "agag"), "01--");
  EXPECT_EQ(pairs_of("axg", "ayg"), "0-2");
  EXPECT_EQ(pairs_of("", "a"), "-");
}

// Would fail if names alone decided: of equal collectives the times say which one is missing.
TEST(ReplayAlignComms, TellsEqualOnesApartByTheirTimes) {
  EXPECT_EQ(pairs_of("aaaa", ".aaa"), "123");
  EXPECT_EQ(pairs_of("aaaa", "aa.a"), "013");
  EXPECT_EQ(pairs_of("aaaa.", ".aaaa"), "123-");
}

// Would fail if clocks that differ ended all pairs.
TEST(ReplayAlignComms, GoesByNamesWhereNoTimesOverlap) {
  EXPECT_EQ(pairs_of("agag", "agag", 1e6), "0123");
  EXPECT_EQ(pairs_of("agag", "gag", 1e6), "123");
  EXPECT_EQ(pairs_of("aaaa", "aaa", 1e6), "012");
}

// Would fail if times parted what needn't overlap: a rank may leave a broadcast before others come.
TEST(ReplayAlignComms, LetsRanksLeaveBroadcastsEarly) {
  EXPECT_EQ(pairs_of("bbbb", "bbbb", 11), "0123");
}

// Would fail if the end of one collective, which lasts longer on one rank, took the next one.
TEST(ReplayAlignComms, TakesTheLongestOverlap) {
  std::vector<CommMark> first = {{1, true, 0, 20}, {1, true, 20, 30}};
  std::vector<CommMark> second = {{1, true, 19, 30}};
  EXPECT_EQ(align_comms(first, second).at(0), std::optional<std::uint32_t>(1));
}

// Would fail if many differences took forever, or if what comes before them were lost.
TEST(ReplayAlignComms, BoundsItsWork) {
  std::string first(100, 'a'), second(100, 'a');
  for (int i = 0; i < 20'000; ++i) {
    first += char('c' + i % 3);
    second += char('k' + i % 5);
  }
  auto places = align_comms(marks_of(first, 0), marks_of(second, 1e9));
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(places[i], std::optional<std::uint32_t>(i));
}

}  // namespace

}  // namespace simmesh::replay
