#include "zero/stage12/flat_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

std::vector<nn::NamedTensor> three_parameters() {
  return {{"a", tensor_of<float>({3}, {1, 2, 3})},
          {"b", tensor_of<float>({2}, {4, 5})},
          {"frozen", tensor_of<float>({2}, {9, 9})}};
}

FlatPartition partition_of(std::int64_t rank) {
  return FlatPartition(three_parameters(), {{0, 1}},
                       {.rank = rank, .layout = {.ranks = 2, .alignment = 1}});
}

// If this fails, an element of a master is on two ranks or on none.
TEST(FlatPartition, EachRankOwnsASliceOfEachGroup) {
  std::vector<float> together;
  for (std::int64_t rank : {0, 1}) {
    FlatPartition partition = partition_of(rank);
    EXPECT_EQ(partition.numel(), 5);
    ASSERT_EQ(partition.groups().size(), 1u);
    for (const OwnedPiece& piece : partition.pieces()) {
      EXPECT_FALSE(piece.gradient.is_defined());
      EXPECT_EQ(piece.master.numel(), piece.count);
      for (float value : piece.master.values<float>()) together.push_back(value);
    }
  }
  EXPECT_THAT(together, ::testing::ElementsAre(1, 2, 3, 4, 5));
}

// If this fails, a gradient goes to a rank that doesn't own its parameter.
TEST(FlatPartition, SegmentsCoverAParameterByOwner) {
  FlatPartition partition = partition_of(1);
  for (std::size_t parameter : {0u, 1u}) {
    std::int64_t next = 0, owner = -1;
    for (const FlatSegment& segment : partition.segments_of(parameter)) {
      EXPECT_EQ(segment.parameter, parameter);
      EXPECT_EQ(segment.first, next);
      EXPECT_GT(segment.owner, owner);
      next += segment.count;
      owner = segment.owner;
      const OwnedPiece* piece = partition.piece_of(parameter);
      if (segment.owner == 1) {
        ASSERT_TRUE(piece);
        EXPECT_EQ(piece->first, segment.first);
        EXPECT_EQ(piece->count, segment.count);
      }
    }
    EXPECT_EQ(next, three_parameters()[parameter].second.numel());
  }
  EXPECT_TRUE(partition.has(0));
  EXPECT_FALSE(partition.has(2));
}

TEST(FlatPartition, AGroupHasOneDtype) {
  auto parameters = three_parameters();
  parameters[1].second = converted(parameters[1].second, DType::bfloat16);
  expect_error(
      [&] {
        FlatPartition(parameters, {{0, 1}}, {.layout = {.ranks = 2, .alignment = 1}});
      },
      ErrorKind::value_error, "b");
}

}  // namespace
}  // namespace simmesh::zero
