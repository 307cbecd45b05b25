#include "sharding/placement/dtensor_spec.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "tests/sharding/serial_oracle.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

// The shape that a rank believes it holds, over all lists and orders.
TEST(DTensorSpec, LocalShapeIsThatOfThePiece) {
  World world({.ranks = 7});
  Outcome outcome = world.run([](Rank& rank) {
    MeshViewer viewer{.rank = rank.id(), .world_size = 7};
    auto groups = std::make_shared<MeshGroups>(
        DeviceMesh::from_ranks(viewer, RankList::of({1, 2, 3, 4, 5, 6}), {2, 3}));
    for (const Sharding& sharding : small_worlds::shardings(2, {Shard(0), Shard(1), Partial()})) {
      DTensorSpec spec{.groups = groups, .sharding = sharding, .shape = {5, 7}};
      if (rank.id() == 0)
        EXPECT_EQ(spec.local_shape(), Shape{0});
      else
        EXPECT_EQ(
            spec.local_shape(),
            oracle::local_index(spec.shape, Dims{2, 3}, groups->coordinate(), sharding).shape());
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// The text in logs and errors.
TEST(DTensorSpec, Prints) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    DTensorSpec spec{.groups = std::make_shared<MeshGroups>(init_device_mesh({2}, {"dp"})),
                     .sharding = {{Shard(0)}, {}},
                     .shape = {8, 16}};
    EXPECT_EQ(to_string(spec), "float32[8, 16](S(0)) on " + to_string(spec.mesh()));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
