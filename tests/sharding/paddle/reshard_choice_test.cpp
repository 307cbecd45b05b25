#include "sharding/paddle/reshard_choice.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::paddle {
namespace {

using simmesh::testing::expect_error;

ProcessMeshLayout on(Shape mesh, std::initializer_list<std::int64_t> ranks, Placements placements) {
  return {std::move(mesh), RankList::of(ranks), std::move(placements)};
}

std::string chosen(const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
  auto function = choose_reshard(from, to);
  return function ? std::string(to_string(*function)) : "none";
}

const Placement replicated = Replicate(), cut_rows = Shard(0), partial_sum = Partial();

TEST(ReshardChoice, OneDimMeshes) {
  EXPECT_EQ(chosen(on({2}, {0, 1}, {cut_rows}), on({2}, {0, 1}, {cut_rows})), "none");
  EXPECT_EQ(chosen(on({2}, {0, 1}, {cut_rows}), on({2}, {0, 1}, {replicated})), "SToRReshard");
  EXPECT_EQ(chosen(on({2}, {0, 1}, {cut_rows}), on({2}, {0, 1}, {Shard(1)})), "SToSReshard");
  EXPECT_EQ(chosen(on({2}, {0, 1}, {partial_sum}), on({2}, {1, 0}, {cut_rows})),
            "PToSReshardCrossMesh");
  EXPECT_EQ(chosen(on({2}, {0, 1}, {partial_sum}), on({2}, {2, 3}, {partial_sum})),
            "SameStatusReshard");
  EXPECT_EQ(chosen(on({2}, {0, 1}, {cut_rows}), on({1}, {3}, {replicated})), "XToRShrinkReshard");
  EXPECT_EQ(chosen(on({1}, {3}, {replicated}), on({2}, {0, 1}, {cut_rows})), "RToXExpandReshard");
}

TEST(ReshardChoice, MeshesOfSeveralDims) {
  EXPECT_EQ(chosen(on({2, 2}, {0, 1, 2, 3}, {cut_rows, replicated}),
                   on({2, 2}, {0, 1, 2, 3}, {replicated, cut_rows})),
            "SameNdMeshReshard");
  EXPECT_EQ(chosen(on({2, 2}, {0, 1, 2, 3}, {cut_rows, replicated}),
                   on({2, 2}, {1, 0, 3, 2}, {replicated, cut_rows})),
            "CrossNdMeshReshard");
}

// A slice may leave its dim out, unless that is the last one.
TEST(ReshardChoice, SlicesOfMeshes) {
  ProcessMeshLayout mesh = on({2, 2}, {0, 1, 2, 3}, {replicated, cut_rows});
  EXPECT_EQ(chosen(mesh, on({2}, {2, 3}, {cut_rows})), "GlobalToSubMeshReshardFunction");
  EXPECT_EQ(chosen(on({1, 2}, {0, 1}, {replicated, cut_rows}), mesh),
            "SubMeshToGlobalReshardFunction");
  EXPECT_EQ(find_sub_mesh_dim(mesh, on({2, 1}, {1, 3}, {cut_rows, replicated})), 1u);
  EXPECT_THROW(
      chosen(on({2, 2}, {0, 1, 2, 3}, {cut_rows, replicated}), on({2}, {0, 2}, {cut_rows})), Error);
  EXPECT_THROW(chosen(mesh, on({2}, {2, 3}, {replicated})), Error);
  EXPECT_EQ(slice_of_mesh(mesh, 1, 1), (std::vector<std::int64_t>{1, 3}));
}

TEST(ReshardChoice, RefusalShowsBothLayouts) {
  expect_error(
      [] {
        choose_reshard(on({4}, {0, 1, 2, 3}, {cut_rows}), on({2}, {0, 1}, {cut_rows}));
      },
      ErrorKind::not_implemented_error,
      "in_dist_attr={process_mesh: {shape: [4], process_ids: [0,1,2,3]}, placements: [S(0)]}");
}

}  // namespace
}  // namespace simmesh::paddle
