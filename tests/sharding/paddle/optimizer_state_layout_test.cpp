#include "sharding/paddle/optimizer_state_layout.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh::paddle {
namespace {

// The first tensor dim that isn't cut is cut, whatever the mesh dim did before.
TEST(OptimizerStateLayout, CutsTheFirstFreeDim) {
  EXPECT_EQ(to_string(optimizer_state_layout(Placements{Replicate(), Shard(0)}, 2, 0)),
            "S(1),S(0)");
  EXPECT_EQ(to_string(optimizer_state_layout(Placements{Partial(), Shard(1)}, 2, 0)), "S(0),S(1)");
  EXPECT_EQ(to_string(optimizer_state_layout(Placements{Replicate(), Shard(1)}, 2, 1)), "R,S(0)");
}

TEST(OptimizerStateLayout, LeavesWhatHasNoFreeDim) {
  EXPECT_EQ(to_string(optimizer_state_layout(Placements{Replicate(), Shard(0)}, 1, 0)), "R,S(0)");
  EXPECT_EQ(to_string(optimizer_state_layout(Placements{Replicate()}, 0, 0)), "R");
}

TEST(OptimizerStateLayout, RefusesTwoCuts) {
  EXPECT_THROW(optimizer_state_layout(Placements{Shard(0), Shard(1)}, 2, 0), Error);
  EXPECT_THROW(optimizer_state_layout(Placements{Replicate()}, 2, 1), Error);
}

}  // namespace
}  // namespace simmesh::paddle
