#include "sharding/paddle/mesh_dim_fallback.h"

#include <gtest/gtest.h>

namespace simmesh::paddle {
namespace {

// Among equal mesh dims the one that cuts first is kept.
TEST(MeshDimFallback, KeepsTheLargestMeshDim) {
  OneMeshDim fallback = one_mesh_dim({{0, 2}, {3, 1}, {}}, Dims{2, 4, 3, 4});
  EXPECT_EQ(fallback.dims_mapping, (Dims{2, 3, -1}));
  EXPECT_EQ(fallback.warnings, (std::vector<FallbackWarning>{{0, 2, 2}, {1, 2, 3}}));
  EXPECT_EQ(to_string(fallback.warnings[0]),
            "tensor dim 0 is cut by 2 mesh dims; an op that knows one takes mesh dim 2");
}

TEST(MeshDimFallback, SaysNothingWhereNothingIsDropped) {
  EXPECT_TRUE(one_mesh_dim({{1}, {}}, Dims{2, 4}).warnings.empty());
}

}  // namespace
}  // namespace simmesh::paddle
