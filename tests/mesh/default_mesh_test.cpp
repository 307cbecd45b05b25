#include "mesh/default_mesh.h"

#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using simmesh::testing::expect_error;

DeviceMesh mesh_on(Rank& rank, const Shape& shape, const DimNames& names = {}) {
  return DeviceMesh::init(
      {.rank = std::int64_t(rank.id()), .world_size = std::int64_t(rank.world().ranks())}, shape,
      names);
}

void expect_none() {
  expect_error([] { current_mesh(); }, ErrorKind::runtime_error,
               "No device mesh is currently active");
}

// A scope that outlives its block, or hides the one around it for good.
TEST(DefaultMesh, ScopesNestAndEnd) {
  run_every_schedule(4, [](Rank& rank) {
    DeviceMesh mesh = mesh_on(rank, {2, 2}, {"dp", "tp"});
    expect_none();
    {
      MeshScope outer(mesh);
      rank.run().yield(rank, CallSite::here());
      EXPECT_EQ(current_mesh(), mesh);
      {
        MeshScope inner(mesh["tp"]);
        rank.run().yield(rank, CallSite::here());
        EXPECT_EQ(current_mesh(), mesh["tp"]);
      }
      EXPECT_EQ(current_mesh(), mesh);
    }
    expect_none();
  });
}

// One rank's scope must not be seen by another, whatever the schedule.
TEST(DefaultMesh, IsOfOneRank) {
  run_every_schedule(3, [](Rank& rank) {
    DeviceMesh mesh = mesh_on(rank, {3});
    if (rank.id() == 1) {
      rank.run().yield(rank, CallSite::here());
      expect_none();
    } else {
      MeshScope scope(mesh);
      rank.run().yield(rank, CallSite::here());
      EXPECT_EQ(current_mesh().get_rank(), std::int64_t(rank.id()));
    }
  });
}

// An exception that leaves a scope ends it, and so does the end of the run because of another rank.
TEST(DefaultMesh, EndsWithAnException) {
  World world({.ranks = 2});
  for (int run = 0; run < 2; ++run) {
    Outcome outcome = world.run([](Rank& rank) {
      DeviceMesh mesh = mesh_on(rank, {2});
      try {
        MeshScope scope(mesh);
        raise(ErrorKind::value_error, "test", "expected");
      } catch (const Error&) {
      }
      expect_none();
      MeshScope scope(mesh);
      rank.run().yield(rank, CallSite::here());
      if (rank.id() == 0) raise(ErrorKind::value_error, "test", "the end");
      rank.run().yield(rank, CallSite::here());
    });
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->rank, 0u);
  }
}

TEST(DefaultMesh, NeedsARank) {
  DeviceMesh mesh = DeviceMesh::init({.rank = 0, .world_size = 2}, {2});
  expect_error([&] { MeshScope scope(mesh); }, ErrorKind::runtime_error, "from a rank");
  expect_error([] { current_mesh(); }, ErrorKind::runtime_error, "from a rank");
}

}  // namespace
}  // namespace simmesh
