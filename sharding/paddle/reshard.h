#pragma once

#include <optional>

#include "collectives/work.h"
#include "core/tensor/tensor.h"
#include "mesh/device_mesh.h"
#include "sharding/paddle/reshard_choice.h"

namespace simmesh::paddle {

// ReplicateToPartial selects the operands of the ranks when a replicated tensor becomes partial.
enum class ReplicateToPartial : std::uint8_t {
  // Paddle's rule: the rank at coordinate 0 of the mesh dim keeps the value, the others hold the
  // identity (0 for a sum, 1 for a product, the lowest value for a maximum). For an average every
  // rank keeps the value.
  first_coordinate,
  // The planner's rule, which is PyTorch's: a sum is divided by the number of ranks; for other
  // reductions every rank keeps the value.
  shared,
};

// ReshardOptions are the options of reshard.
struct ReshardOptions {
  ReplicateToPartial replicate_to_partial = ReplicateToPartial::first_coordinate;
};

// ReshardCall is a tensor with its source and target. Each rank sees the meshes as its own.
struct ReshardCall {
  Shape shape;  // of the logical tensor
  DType dtype = DType::float32;
  DeviceMesh from_mesh;
  Placements from;
  DeviceMesh to_mesh;
  Placements to;
  ReshardOptions options = {};

  // source and target return both sides as they are seen from outside of any rank.
  ProcessMeshLayout source() const;
  ProcessMeshLayout target() const;
};

// reshard changes the layout of a tensor, or takes it to another mesh, as Paddle's reshard does.
// Every rank of both meshes calls it with its piece (an undefined tensor outside the source mesh)
// and gets its new piece (an undefined one outside the target mesh).
//
//   Tensor whole = paddle::reshard(shard, {.shape = {8, 4}, .from_mesh = mesh, .from = {Shard(0)},
//                                          .to_mesh = mesh, .to = {Replicate()}});
//
// On one mesh it carries out plan_reshard: the collectives of the planner's steps. Between meshes
// the rank at position i of the source sends its piece to the rank at position i of the target.
// Layouts change on the mesh where that moves fewer bytes (R->S and P->S, and all changes on
// several mesh dims, before the move). A mesh of one rank sends and receives directly.
//
// Raises as choose_reshard and plan_reshard do, on every rank alike.
Tensor reshard(const Tensor& local, const ReshardCall& call, CallSite site = CallSite::here());

// shard_tensor shards a tensor that every rank of the mesh holds whole.
Tensor shard_tensor(const Tensor& whole, const DeviceMesh& mesh, PlacementSpan placements,
                    const ReshardOptions& options = {}, CallSite site = CallSite::here());

}  // namespace simmesh::paddle
