#include "replay/timeline/kineto_comm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace simmesh::replay {

namespace {

using Numbers = std::vector<std::int64_t>;

TEST(ReplayKinetoComm, ReadsLists) {
  EXPECT_EQ(kineto_numbers("[1, 2, 3]"), (Numbers{1, 2, 3}));
  EXPECT_EQ(kineto_numbers("[-4]"), Numbers{-4});
  EXPECT_EQ(kineto_numbers("\"[1,2]\""), (Numbers{1, 2}));
  EXPECT_EQ(kineto_numbers("[]"), Numbers{});
  EXPECT_EQ(kineto_numbers(" [ ] "), Numbers{});
}

// Would fail if a list that was cut, or no list at all, were read as a whole one.
TEST(ReplayKinetoComm, RefusesWhatIsNoWholeList) {
  for (const char* text : {"", "[", "]", "1, 2", "[1, 2, ...]", "[1 2]", "[1,,2]", "[1,]", "[a]",
                           "[1.5]", "[99999999999999999999]", "[[1]]"})
    EXPECT_EQ(kineto_numbers(text), std::nullopt) << text;
}

// Would fail if the ranks that the profiler leaves out weren't those of the group: every group of
// 31 to 40 ranks with a first rank and a stride, cut as PyTorch cuts it.
TEST(ReplayKinetoComm, FillsInRanksThatAreCut) {
  for (std::int64_t size = 31; size <= 40; ++size)
    for (std::int64_t first = 0; first < 3; ++first)
      for (std::int64_t stride = 1; stride < 4; ++stride) {
        Numbers ranks;
        for (std::int64_t i = 0; i < size; ++i) ranks.push_back(first + i * stride);
        Numbers head(ranks.begin(), ranks.begin() + 29);
        EXPECT_EQ(
            kineto_ranks(fmt::format("[{}, ..., {}]", fmt::join(head, ", "), ranks.back()), size),
            ranks);
        EXPECT_EQ(kineto_ranks(fmt::format("[{}, ...]", fmt::join(head, ", ")), size), ranks);
        EXPECT_EQ(kineto_ranks(
                      fmt::format("[{}, ..., {}]", fmt::join(head, ", "), ranks.back() + 1), size),
                  Numbers{});
      }
  EXPECT_EQ(kineto_ranks("[5, 3, 9]", 3), (Numbers{5, 3, 9}));
}

// Would fail if ranks were made up that the text contradicts, or more of them than a job has.
TEST(ReplayKinetoComm, MakesUpNoRanks) {
  for (const char* text :
       {"[0, ...]", "[0, 1, 3, ...]", "[4, 2, ...]", "[0, 0, ...]", "[-2, -1, ...]",
        "[0, 9223372036854775807, ...]", "[..., 3]", "[0, 1, ..., 2, ..., 3]", "nonsense"})
    EXPECT_EQ(kineto_ranks(text, 40), Numbers{}) << text;
  EXPECT_EQ(kineto_ranks("[0, 1, ...]", 1), Numbers{});
  EXPECT_EQ(kineto_ranks("[0, 1, ...]", kineto_ranks_max + 1), Numbers{});
}

TEST(ReplayKinetoComm, KnowsTheSizesOfDtypes) {
  EXPECT_EQ(dtype_bytes("Byte"), 1);
  EXPECT_EQ(dtype_bytes("Float8_e4m3fn"), 1);
  EXPECT_EQ(dtype_bytes("BFloat16"), 2);
  EXPECT_EQ(dtype_bytes("Float"), 4);
  EXPECT_EQ(dtype_bytes("Long"), 8);
  EXPECT_EQ(dtype_bytes("ComplexFloat"), 8);
  EXPECT_EQ(dtype_bytes("ComplexDouble"), 16);
  EXPECT_EQ(dtype_bytes("Quaternion"), 0);
}

}  // namespace

}  // namespace simmesh::replay
