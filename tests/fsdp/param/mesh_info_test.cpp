#include "fsdp/param/mesh_info.h"

#include <gtest/gtest.h>

#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh::fsdp {
namespace {

using simmesh::testing::expect_error;

// If this fails, parameters are sharded along the dim that replicates them, and gradients are
// averaged over too few ranks.
SIMMESH_TEST(MeshInfo, ShardsAlongTheLastDim, {.mesh = {2, 3}, .names = {"dp", "shard"}}) {
  MeshInfo both = mesh_info_of(mesh);
  EXPECT_EQ(both.shard_size(), 3);
  EXPECT_EQ(both.shard_rank(), mesh.get_rank() % 3);
  EXPECT_EQ(both.data_parallel_size(), 6);
  EXPECT_EQ(both.placements(Shard(1)), (Placements{Replicate(), Shard(1)}));
  MeshInfo one = mesh_info_of(mesh["shard"]);
  EXPECT_FALSE(one.replicate_group);
  EXPECT_EQ(one.placements(Shard(0)), Placements{Shard(0)});
}

SIMMESH_TEST(MeshInfo, TakesNamedDimsAsTheDataParallelOnes,
             {.mesh = {2, 2, 2}, .names = {"dp", "cp", "tp"}}) {
  MeshInfo joined = spmd_mesh_info_of(mesh, {.shard = {"dp", "cp"}});
  EXPECT_EQ(joined.shard_size(), 4);
  EXPECT_EQ(joined.data_parallel_size(), 4);
  MeshInfo hybrid = spmd_mesh_info_of(mesh, {.shard = {"tp"}, .replicate = {"dp"}});
  EXPECT_EQ(hybrid.shard_size(), 2);
  EXPECT_EQ(hybrid.replicate_group->size(), 2);
  MeshInfo replicated = spmd_mesh_info_of(mesh, {.replicate = {"cp"}});
  EXPECT_FALSE(replicated.is_sharded);
  EXPECT_EQ(replicated.shard_size(), 1);
  EXPECT_EQ(replicated.data_parallel_size(), 2);
  EXPECT_EQ(replicated.placements(Shard(0)), Placements{Replicate()});
  EXPECT_FALSE(post_forward_of(true, replicated).reshards);
}

SIMMESH_TEST(MeshInfo, RefusesMeshesWithoutAMeaning, {.mesh = {1, 2, 1}}) {
  expect_error([&] { mesh_info_of(mesh); }, ErrorKind::value_error,
               "expects a 1D or 2D DeviceMesh but got 3 dims");
  expect_error(
      [&] {
        mesh_info_of(init_device_mesh({1, 2}));
      },
      ErrorKind::assertion_error, "mesh_dim_names");
  expect_error([&] { spmd_mesh_info_of(mesh, {}); }, ErrorKind::value_error, "At least one of");
  expect_error([&] { spmd_mesh_info_of(mesh, {.shard = {"dp"}}); }, ErrorKind::value_error,
               "needs a mesh with mesh_dim_names");
  DeviceMesh named = init_device_mesh({1, 2}, {"dp", "tp"});
  expect_error([&] { spmd_mesh_info_of(named, {.shard = {"pp"}}); }, ErrorKind::value_error,
               "mesh dim 'pp' not found in dp, tp");
}

// If this fails, parameters are kept whole after forward where they should be given up, or over
// other ranks than asked for.
SIMMESH_TEST(MeshInfo, SaysWhereParametersGoAfterForward, {.mesh = {4}}) {
  MeshInfo info = mesh_info_of(mesh);
  EXPECT_TRUE(post_forward_of({}, info).reshards);
  EXPECT_FALSE(post_forward_of(false, info).reshards);
  EXPECT_FALSE(post_forward_of(1, info).reshards);
  EXPECT_FALSE(post_forward_of(4, info).mesh);
  PostForward pairs = post_forward_of(2, info);
  ASSERT_TRUE(pairs.mesh);
  EXPECT_EQ(pairs.mesh->shard_size(), 2);
  EXPECT_EQ(pairs.mesh->shard_group.members()[0], mesh.get_rank() / 2 * 2);
  for (int ranks : {3, 8, 0})
    expect_error([&] { post_forward_of(ranks, info); }, ErrorKind::value_error,
                 "a factor of the shard mesh size 4");
}

}  // namespace
}  // namespace simmesh::fsdp
