#include "mesh/mesh_layout.h"

#include <gmock/gmock.h>

#include "core/check/check.h"
#include "tests/mesh/enumerate_meshes.h"

namespace simmesh {
namespace {

using testing::coordinate_of_index;
using testing::shapes_up_to;

// Coordinates decide which shard a rank holds: they must be those of a row-major array, for every
// mesh.
TEST(MeshLayout, CoordinatesAreRowMajor) {
  for (const Shape& shape : shapes_up_to(4, 24)) {
    MeshLayout layout = MeshLayout::contiguous(shape);
    ASSERT_EQ(layout.shape(), shape);
    ASSERT_EQ(layout.size(), numel(shape));
    ASSERT_EQ(layout.flattened(), Layout::contiguous(numel(shape)));
    for (std::int64_t position = 0; position < layout.size(); ++position) {
      Dims coordinate = layout.coordinate_of(position);
      ASSERT_EQ(coordinate, coordinate_of_index(position, shape));
      ASSERT_EQ(layout.position_of(coordinate), position);
    }
  }
}

// A flattened dim that steps unevenly must still give coordinates in its own order.
TEST(MeshLayout, FlattenedDimsKeepTheirOrder) {
  for (const Shape& shape : shapes_up_to(4, 24)) {
    if (shape.size() < 3) continue;
    MeshLayout mesh = MeshLayout::contiguous(shape);
    MeshLayout outer_inner(mesh.sliced(Dims{0, 2}).flattened());
    for (std::int64_t position = 0; position < mesh.size(); ++position) {
      Dims coordinate = mesh.coordinate_of(position);
      ASSERT_EQ(outer_inner.coordinate_of(position)[0], coordinate[0] * shape[2] + coordinate[2]);
    }
  }
}

// Splitting a dim and flattening the parts must give the dim back, also where it steps unevenly.
TEST(MeshLayout, UnflattenUndoesFlatten) {
  for (const Shape& shape : shapes_up_to(4, 24)) {
    MeshLayout mesh = MeshLayout::contiguous(shape);
    MeshLayout flat(mesh.flattened());
    std::optional<MeshLayout> back = flat.unflattened(0, shape);
    ASSERT_TRUE(back);
    ASSERT_EQ(*back, mesh);
    if (shape.size() < 3) continue;
    Dims dims{0, 2};
    MeshLayout corners(mesh.sliced(dims).flattened());
    std::optional<MeshLayout> apart = corners.unflattened(0, Shape{shape[0], shape[2]});
    ASSERT_TRUE(apart);
    ASSERT_EQ(*apart, mesh.sliced(dims));
  }
}

TEST(MeshLayout, UnflattenRefusesUnevenParts) {
  MeshLayout uneven(Layout({{2, 6}, {3, 1}}));
  EXPECT_FALSE(uneven.unflattened(0, Shape{3, 2}));
  EXPECT_TRUE(uneven.unflattened(0, Shape{2, 1, 3}));
  EXPECT_THROW(static_cast<void>(uneven.unflattened(0, Shape{2, 2})), ContractViolation);
}

TEST(MeshLayout, SplicedReplacesOneDim) {
  MeshLayout mesh = MeshLayout::contiguous(Shape{2, 3, 4});
  EXPECT_EQ(mesh.spliced(1, MeshLayout()), mesh.sliced(Dims{0, 2}));
  EXPECT_EQ(mesh.spliced(1, mesh.sliced(Dims{1})), mesh);
  EXPECT_EQ(to_string(mesh.spliced(2, MeshLayout::contiguous(Shape{2, 2}))),
            "[2:12, 3:4, 2:2, 2:1]");
  EXPECT_THROW(mesh.spliced(3, mesh), ContractViolation);
}

TEST(MeshLayout, WithoutDimsHasOnePosition) {
  MeshLayout none;
  EXPECT_EQ(none.size(), 1);
  EXPECT_EQ(none.flattened(), Layout());
  EXPECT_EQ(none.coordinate_of(5), Dims());
  EXPECT_EQ(none.position_of(Dims()), 0);
}

}  // namespace
}  // namespace simmesh
