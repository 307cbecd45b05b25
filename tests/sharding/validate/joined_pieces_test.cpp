#include "sharding/validate/joined_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace simmesh {
namespace {

using ::testing::HasSubstr;

Tensor row(std::initializer_list<double> values) {
  return tensor_of<double>({std::int64_t(values.size())}, values);
}

std::string differs(const std::vector<Tensor>& pieces, const Placement& placement,
                    const Tensor& whole) {
  Placements placements = {placement};
  Dims mesh = {std::int64_t(pieces.size())};
  return what_differs({.pieces = pieces, .placements = placements, .mesh_shape = mesh}, whole);
}

// If only one copy were compared, ranks could go on with different numbers.
TEST(JoinedPieces, CopiesMustBeEqualOnAllRanks) {
  EXPECT_EQ(differs({row({1, 2}), row({1, 2})}, Replicate(), row({1, 2})), "");
  EXPECT_THAT(differs({row({1, 2}), row({1, 3})}, Replicate(), row({1, 2})),
              HasSubstr("rank 1 and rank 0 differ"));
}

TEST(JoinedPieces, ShardsHaveTheSizesOfTheChunkRule) {
  EXPECT_EQ(differs({row({1, 2}), row({3})}, Shard(0), row({1, 2, 3})), "");
  EXPECT_THAT(differs({row({1}), row({2, 3})}, Shard(0), row({1, 2, 3})),
              HasSubstr("rank 0 has a piece of shape [1], expected [2]"));
  EXPECT_THAT(differs({row({1}), row({2})}, Shard(1), row({1, 2})), HasSubstr("no such dim"));
}

TEST(JoinedPieces, TheFirstElementThatDiffersIsNamed) {
  EXPECT_THAT(differs({row({1, 2}), row({4})}, Shard(0), row({1, 2, 3})),
              HasSubstr("the first at [2]: expected 3, got 4"));
  EXPECT_THAT(differs({row({1, 2}), row({1, 2})}, Partial(), row({2, 5})),
              HasSubstr("the first at [1]: expected 5, got 4"));
}

// If zeros of either sign differed, a sum of zeros would refute rules that PyTorch's hashes accept.
TEST(JoinedPieces, ZerosAndNaNsAreEqual) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(differs({row({-0.0, nan}), row({-0.0, nan})}, Replicate(), row({0.0, nan})), "");
  EXPECT_NE(differs({row({1.0, 0}), row({1.0, 0})}, Replicate(), row({nan, 0})), "");
}

TEST(JoinedPieces, OperandsOfUnlikeShapesAreNamed) {
  EXPECT_THAT(differs({row({1, 2}), row({1})}, Partial(), row({1, 2})),
              HasSubstr("rank 1 has an operand of shape [1]"));
}

TEST(JoinedPieces, MaskedRowsDontCount) {
  std::vector<Tensor> pieces = {row({1, 9}), row({9, 2})};
  std::vector<Tensor> masks = {tensor_of<bool>({2}, {false, true}),
                               tensor_of<bool>({2}, {true, false})};
  Placements placements = {MaskPartial()};
  Dims mesh = {2};
  EXPECT_EQ(
      what_differs({.pieces = pieces, .masks = masks, .placements = placements, .mesh_shape = mesh},
                   row({1, 2})),
      "");
  EXPECT_NE(differs(pieces, MaskPartial(), row({1, 2})), "");
}

TEST(JoinedPieces, ANormIsTheRootOfTheSumOfPowers) {
  EXPECT_EQ(differs({row({3}), row({4})}, NormPartial(2), row({5})), "");
  EXPECT_NE(differs({row({3}), row({4})}, NormPartial(2), row({5.0000001})), "");
}

}  // namespace
}  // namespace simmesh
