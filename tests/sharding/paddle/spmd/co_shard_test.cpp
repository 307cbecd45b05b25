#include "sharding/paddle/spmd/co_shard.h"

#include <gtest/gtest.h>

namespace simmesh::paddle {
namespace {

// The innermost cuts go first.
TEST(CoShard, DropsCutsUntilPiecesAreEqual) {
  Dims cuts{2, 0, 1};
  EXPECT_EQ(shards_of(cuts, Dims{2, 3, 4}), 24);
  drop_uneven_cuts(cuts, 8, Dims{2, 3, 4});
  EXPECT_EQ(cuts, (Dims{2, 0}));
  drop_uneven_cuts(cuts, 5, Dims{2, 3, 4});
  EXPECT_TRUE(cuts.empty());
}

TEST(CoShard, DropsCutsOfEachDim) {
  DistAttr attr{.dims_mapping = {{0}, {1}}, .partial_status = {}};
  drop_uneven_cuts(attr, Shape{3, 4}, Dims{2, 2});
  EXPECT_EQ(to_string(attr), "[[],[1]]");
}

}  // namespace
}  // namespace simmesh::paddle
