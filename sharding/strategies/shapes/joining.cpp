#include "core/ops/shapes/joining.h"

#include "core/ops/attribute_names.h"
#include "core/ops/dim_list.h"
#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Vectors without elements are left out of a cat, whatever the shape of the others.
bool is_left_out(const TensorType& type) { return type.shape == Shape{0}; }

// Returns the row in which every tensor has an entry, except those that are left out.
StrategyRow row_of_all(const StrategyRequest& call, const Placement& entry) {
  StrategyRow row = rule({}, entry);
  for (const TensorType& type : call.inputs)
    row.inputs.push_back(is_left_out(type) ? Replicate() : entry);
  return row;
}

StrategyRows cat_rows(const StrategyRequest& call) {
  std::size_t rank = call.outputs[0].shape.size();
  std::int64_t along = wrapped_dim(call.attributes.get(attribute::dim), rank);
  StrategyRows rows;
  for (std::int64_t dim = 0; dim < std::int64_t(rank); ++dim)
    if (dim != along) rows.push_back(row_of_all(call, Shard(dim)));
  add_partial_rows(rows, row_of_all(call, Partial()));
  return rows;
}

// Merges the placements of two tensors that are stacked: a shard wins over a Partial placement, and
// that over a replica; two different ones of a kind are replicated.
Placement merged(const Placement& known, const Placement& next) {
  if (known == next || next.is_replicate()) return known;
  if (known.is_replicate()) return next;
  if (known.splits() != next.splits()) return known.splits() ? known : next;
  return Replicate();
}

// All tensors of a stack get one placement. A MaskPartial is reduced, because its mask is that of
// one tensor.
std::vector<MeshCandidate> stack_candidates(const MeshRequest& request) {
  std::size_t rank = request.call.outputs[0].shape.size();
  std::int64_t added = wrapped_dim(request.call.attributes.get(attribute::dim), rank);
  Placements inputs, outputs;
  for (std::size_t mesh_dim = 0; mesh_dim < request.mesh_shape.size(); ++mesh_dim) {
    Placement all = (*request.given[0])[mesh_dim];
    for (const auto& given : request.given) all = merged(all, (*given)[mesh_dim]);
    // Units are of dim 0, and the stack may add a new dim 0.
    bool stays =
        all.kind() != Placement::Kind::mask_partial && !(all.is_ragged_shard() && added == 0);
    if (!stays) all = Replicate();
    inputs.push_back(all);
    outputs.push_back(all.splits() && all.dim() >= added ? all.with_dim(all.dim() + 1) : all);
  }
  return {{std::vector<std::optional<Placements>>(request.given.size(), inputs), {outputs}}};
}

}  // namespace

void joining_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"cat", {.rows = cat_rows, .takes_list = true}},
      {"stack", {.over_mesh = stack_candidates}},
  };
  table.add(strategies);
}

}  // namespace simmesh
