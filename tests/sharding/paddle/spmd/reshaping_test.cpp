#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// Cuts of joined dims wander to the first one, as far as they divide it without a gap.
TEST(PaddleReshaping, ReshapeCarriesCutsOver) {
  auto reshape = [](SpmdTensor x, std::vector<std::int64_t> shape) {
    return asked({"reshape", {2, 2, 2}, {x}, {shape}});
  };
  EXPECT_EQ(reshape(tensor({8, 8, 8}, {{0}, {1, 2}, {}}), {64, 8}),
            "[[0,1,2],[],[]] -> [[0,1,2],[]]");
  EXPECT_EQ(reshape(tensor({4, 8, 8}, {{0}, {1, 2}, {}}), {32, 8}), "[[0],[],[]] -> [[0],[]]");
  EXPECT_EQ(reshape(tensor({8, 8, 8}, {{0}, {}, {1}}), {512}), "[[0],[],[]] -> [[0]]");
  EXPECT_EQ(reshape(tensor({8, 8, 8}, {{0, 1}, {}, {}}), {2, 4, 8, 8}),
            "[[],[],[]] -> [[],[],[],[]]");
  EXPECT_EQ(reshape(tensor({8, 8, 8}, {{0}, {}, {}}, {1}), {-1, 0, 8}),
            "[[0],[],[]] partial {1: sum} -> [[0],[],[]] partial {1: sum}");
}

TEST(PaddleReshaping, FlattenJoinsARange) {
  EXPECT_EQ(asked({"flatten",
                   {2, 2},
                   {tensor({4, 8, 16}, {{}, {0}, {1}})},
                   {std::int64_t(1), std::int64_t(2)}}),
            "[[],[0,1],[]] -> [[],[0,1]]");
}

TEST(PaddleReshaping, SqueezeAndUnsqueezeMoveCuts) {
  std::vector<std::int64_t> first{0}, second{1};
  EXPECT_EQ(asked({"squeeze", {2, 2}, {tensor({4, 1, 16}, {{0}, {}, {1}})}, {second}}),
            "[[0],[],[1]] -> [[0],[1]]");
  EXPECT_EQ(asked({"unsqueeze", {2, 2}, {tensor({4, 8}, {{0}, {1}})}, {first}}),
            "[[0],[1]] -> [[],[0],[1]]");
}

TEST(PaddleReshaping, TransposeKeepsWhatIsPartial) {
  EXPECT_EQ(asked({"transpose",
                   {2, 2, 2},
                   {tensor({4, 8}, {{1, 0}, {}}, {2})},
                   {std::vector<std::int64_t>{1, 0}}}),
            "[[1,0],[]] partial {2: sum} -> [[],[1,0]] partial {2: sum}");
}

// A dim along which elements are repeated is whole.
TEST(PaddleReshaping, RepeatedDimsAreWhole) {
  EXPECT_EQ(
      asked({"tile", {2, 2}, {tensor({4, 8}, {{0}, {1}})}, {std::vector<std::int64_t>{2, 1, 2}}}),
      "[[0],[]] -> [[],[0],[]]");
  EXPECT_EQ(asked({"expand_as",
                   {2, 2},
                   {tensor({1, 8}, {{0}, {}}), tensor({4, 8}, {{0}, {1}})},
                   {std::vector<std::int64_t>{4, 8}}}),
            "[[],[1]] | [[0],[1]] -> [[0],[1]]");
}

}  // namespace
}  // namespace simmesh::paddle
