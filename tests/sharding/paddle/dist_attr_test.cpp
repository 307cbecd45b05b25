#include "sharding/paddle/dist_attr.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh::paddle {
namespace {

TEST(DistAttr, PlacementsAndMappingsAreTheSame) {
  Placements placements{Shard(0), Partial(ReduceOp::max), Shard(0)};
  DistAttr attr = to_dist_attr(placements, 2);
  EXPECT_EQ(to_string(attr), "[[0,2],[]] partial {1: max}");
  EXPECT_EQ(to_placements(attr, 3), placements);
  EXPECT_THROW(to_dist_attr(Placements{Shard(2)}, 2), Error);
  EXPECT_THROW(to_dist_attr(Placements{StridedShard(0, 2)}, 2), Error);
}

// Paddle has words for the or and the and of bools.
TEST(DistAttr, WordsArePaddles) {
  EXPECT_EQ(parse_placement("P(any)"), Partial(ReduceOp::bor));
  EXPECT_EQ(to_word(Partial(ReduceOp::band)), "P(all)");
  EXPECT_EQ(to_word(parse_placement("S(1)")), "S(1)");
  EXPECT_THROW(parse_placement("P(bxor)"), Error);
  EXPECT_THROW(parse_placement("_S(0,2)"), Error);
}

TEST(DistAttr, MeshDimsComeOnce) {
  DistAttr twice{.dims_mapping = {{0}}, .partial_status = {{0, ReduceOp::sum}}};
  EXPECT_THROW(require_valid(twice, 1, 1, "test"), Error);
  EXPECT_THROW(require_valid(DistAttr::replicated(2), 1, 1, "test"), Error);
  EXPECT_NO_THROW(require_valid(DistAttr::replicated(2), 2, 1, "test"));
}

}  // namespace
}  // namespace simmesh::paddle
