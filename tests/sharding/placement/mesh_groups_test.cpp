#include "sharding/placement/mesh_groups.h"

#include <gmock/gmock.h>

#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void on_each_of(std::size_t ranks, const std::function<void(Rank&)>& body) {
  World world({.ranks = ranks});
  Outcome outcome = world.run(body);
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// A group of the wrong dim, or one that is made anew each time and so counts its collectives anew.
TEST(MeshGroups, FindsTheGroupOfEachDimOnce) {
  on_each_of(6, [](Rank& rank) {
    MeshGroups groups(init_device_mesh({2, 3}));
    std::int64_t column = rank.id() % 3, row = rank.id() / 3;
    EXPECT_EQ(groups.coordinate(), (Dims{row, column}));
    EXPECT_THAT(groups.group(Dims{0}).members().to_vector(), ElementsAre(column, column + 3));
    EXPECT_THAT(groups.group(Dims{1}).members().to_vector(),
                ElementsAre(3 * row, 3 * row + 1, 3 * row + 2));
    EXPECT_EQ(&groups.group(Dims{1}), &groups.group(Dims{1}));
  });
}

// The group of all ranks is that of a dim, or counts as a flattened mesh, over which steps merge.
TEST(MeshGroups, TheWholeMeshIsAGroupOfItsOwn) {
  on_each_of(4, [](Rank&) {
    MeshGroups groups(init_device_mesh({2, 2}, {"a", "b"}));
    EXPECT_THAT(groups.whole().members().to_vector(), ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(&groups.whole(), &groups.whole());
    EXPECT_THAT(groups.flattened(), IsEmpty());
    MeshGroups line(init_device_mesh({4}));
    EXPECT_EQ(&line.whole(), &line.group(Dims{0}));
  });
}

// Only flattened meshes that were made may merge steps, and also those made later.
TEST(MeshGroups, ListsFlattenedMeshes) {
  on_each_of(8, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2, 2}, {"a", "b", "c"});
    MeshGroups groups(mesh);
    EXPECT_THAT(groups.flattened(), IsEmpty());
    mesh[{"a", "c"}].flatten();
    EXPECT_THAT(groups.flattened(), ElementsAre(Dims{0, 2}));
    std::int64_t first = rank.id() & 2;
    EXPECT_THAT(groups.group(Dims{0, 2}).members().to_vector(),
                ElementsAre(first, first + 1, first + 4, first + 5));
    mesh.flatten();
    EXPECT_THAT(groups.flattened(), ElementsAre(Dims{0, 2}, Dims{0, 1, 2}));
  });
}

// Groups follow the mesh, not the numbers of the ranks; outside there is no coordinate.
TEST(MeshGroups, FollowsPermutedMeshes) {
  on_each_of(4, [](Rank& rank) {
    MeshViewer viewer{.rank = rank.id(), .world_size = 4};
    MeshGroups groups(DeviceMesh::from_ranks(viewer, RankList::of({3, 1}), {2}));
    EXPECT_EQ(groups.is_member(), rank.id() % 2 == 1);
    if (!groups.is_member()) {
      EXPECT_THAT(groups.coordinate(), IsEmpty());
      return;
    }
    EXPECT_EQ(groups.coordinate(), Dims{rank.id() == 3 ? 0 : 1});
    EXPECT_THAT(groups.group(Dims{0}).members().to_vector(), ElementsAre(3, 1));
  });
}

}  // namespace
}  // namespace simmesh
