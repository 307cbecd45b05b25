#include "sharding/paddle/reshard.h"

#include "core/tensor/formula.h"
#include "sharding/placement/local_shape.h"
#include "testing/gtest.h"

namespace simmesh::paddle {
namespace {

const Placement r = Replicate(), p = Partial();

Tensor sample_numbers(Shape shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::small, .seed = seed, .dtype = DType::float32});
}

// The piece of a mesh position.
Tensor piece_of(const Tensor& whole, const DeviceMesh& mesh, const Placements& placements) {
  if (!mesh.get_coordinate()) return {};
  LocalShape local = compute_local_shape_and_global_offset(whole.shape(), mesh.shape(),
                                                           *mesh.get_coordinate(), placements);
  Tensor piece = whole;
  for (std::size_t dim = 0; dim < local.shape.size(); ++dim)
    piece =
        piece.narrow({std::int64_t(dim),
                      std::min(local.offset[dim], whole.size(std::int64_t(dim)) - local.shape[dim]),
                      local.shape[dim]});
  return piece.clone();
}

void expect_moves(const Tensor& whole, const DeviceMesh& from_mesh, const Placements& from,
                  const DeviceMesh& to_mesh, const Placements& to) {
  if (!from_mesh.get_coordinate() && !to_mesh.get_coordinate()) return;
  Tensor after = reshard(piece_of(whole, from_mesh, from),
                         {.shape = Shape(whole.shape().begin(), whole.shape().end()),
                          .from_mesh = from_mesh,
                          .from = from,
                          .to_mesh = to_mesh,
                          .to = to});
  if (to_mesh.get_coordinate()) EXPECT_SAME_BITS(after, piece_of(whole, to_mesh, to));
}

DeviceMesh mesh_of(std::initializer_list<std::int64_t> ranks, const Shape& shape) {
  Rank& rank = this_rank();
  return DeviceMesh::from_ranks({.rank = rank.id(), .world_size = 4}, RankList::of(ranks), shape);
}

SIMMESH_TEST(PaddleReshard, OneMeshKeepsTheTensor, {.mesh = {2, 2}, .schedules = 10}) {
  Tensor whole = sample_numbers({5, 6}, 1);
  std::vector<Placements> layouts{
      {r, r}, {Shard(0), r}, {Shard(1), Shard(0)}, {Shard(1), Shard(1)}};
  for (const Placements& from : layouts)
    for (const Placements& to : layouts) expect_moves(whole, mesh, from, mesh, to);
}

SIMMESH_TEST(PaddleReshard, OtherMeshesGetTheTensor, {.mesh = {4}, .schedules = 10}) {
  Tensor whole = sample_numbers({6, 4}, 2);
  DeviceMesh left = mesh_of({0, 1}, {2}), right = mesh_of({2, 1}, {2}), one = mesh_of({3}, {1});
  for (const Placement& from : {r, Shard(0), Shard(1)}) {
    expect_moves(whole, left, {from}, one, {r});
    expect_moves(whole, one, {r}, left, {from});
    for (const Placement& to : {r, Shard(0), Shard(1)})
      expect_moves(whole, left, {from}, right, {to});
  }
  DeviceMesh square = mesh_of({0, 1, 2, 3}, {2, 2}), turned = mesh_of({1, 0, 3, 2}, {2, 2});
  expect_moves(whole, square, {Shard(0), r}, turned, {r, Shard(0)});
}

SIMMESH_TEST(PaddleReshard, CoShardsMoveToOtherMeshes, {.mesh = {4}, .schedules = 10}) {
  Tensor whole = sample_numbers({8, 3}, 6);
  DeviceMesh square = mesh_of({0, 1, 2, 3}, {2, 2}), turned = mesh_of({1, 0, 3, 2}, {2, 2});
  expect_moves(whole, square, {Shard(0), Shard(0)}, turned, {Shard(1), r});
  expect_moves(whole, square, {Shard(1), r}, turned, {Shard(0), Shard(0)});
}

SIMMESH_TEST(PaddleReshard, SlicesOfAMeshKeepTheirPieces, {.mesh = {4}, .schedules = 10}) {
  Tensor whole = sample_numbers({6, 4}, 3);
  DeviceMesh square = mesh_of({0, 1, 2, 3}, {2, 2}), row = mesh_of({2, 3}, {2});
  expect_moves(whole, square, {r, Shard(0)}, row, {Shard(0)});
  expect_moves(whole, row, {Shard(0)}, square, {r, Shard(0)});
}

// A tensor that becomes partial and is reduced again is unchanged, whatever the reduction.
SIMMESH_TEST(PaddleReshard, PartialValuesReduceToTheTensor, {.mesh = {3}, .schedules = 10}) {
  Tensor whole = sample_numbers({5, 3}, 4);
  for (ReduceOp op :
       {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max, ReduceOp::product})
    for (ReplicateToPartial rule :
         {ReplicateToPartial::first_coordinate, ReplicateToPartial::shared}) {
      if (rule == ReplicateToPartial::shared && (op == ReduceOp::product || op == ReduceOp::sum))
        continue;
      Tensor partial =
          shard_tensor(whole, mesh, Placements{Partial(op)}, {.replicate_to_partial = rule});
      ReshardCall call{
          .shape = {5, 3}, .from_mesh = mesh, .from = {Partial(op)}, .to_mesh = mesh, .to = {r}};
      EXPECT_SAME_BITS(reshard(partial, call), whole);
      call.to = {Shard(0)};
      EXPECT_SAME_BITS(reshard(partial, call), piece_of(whole, mesh, {Shard(0)}));
    }
}

SIMMESH_TEST(PaddleReshard, OnlyTheFirstRankKeepsASum, {.mesh = {2}, .schedules = 4}) {
  Tensor whole = sample_numbers({4}, 5);
  Tensor partial = shard_tensor(whole, mesh, Placements{p});
  bool is_first = (*mesh.get_coordinate())[0] == 0;
  EXPECT_SAME_BITS(partial, is_first ? whole : zeros({4}, DType::float32));
  Tensor shared = shard_tensor(whole, mesh, Placements{p},
                               {.replicate_to_partial = ReplicateToPartial::shared});
  ReshardCall call{.shape = {4}, .from_mesh = mesh, .from = {p}, .to_mesh = mesh, .to = {r}};
  EXPECT_SAME_BITS(reshard(shared, call), whole);
}

}  // namespace
}  // namespace simmesh::paddle
