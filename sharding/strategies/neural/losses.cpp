#include "core/ops/neural/losses.h"

#include <algorithm>

#include "core/ops/promotion.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

std::optional<Placement> of_optional(const TensorType& type, const Placement& placement) {
  return type.is_defined ? std::optional(placement) : std::nullopt;
}

// Inputs: scores, targets, which have no class dim, and the weights of all classes. A mean over
// pieces would have to be weighted by the pieces' total weights.
StrategyRows class_loss_rows(const StrategyRequest& call) {
  StrategyRows rows;
  LossReduction reduction = reduction_of(call.attributes);
  if (reduction == LossReduction::mean) return rows;
  bool is_sum = reduction == LossReduction::sum;
  std::int64_t dims = std::int64_t(call.inputs[0].shape.size());
  std::int64_t classes = class_dim(call.inputs[0].shape.size());
  for (std::int64_t dim = 0; dim < dims; ++dim) {
    if (dim == classes) continue;
    Placement target = Shard(dim < classes ? dim : dim - 1), partial = Partial(ReduceOp::sum);
    StrategyRow row =
        rule({Shard(dim), target}, {is_sum ? partial : target, is_sum ? partial : Placement()});
    for (const TensorType& weight : call.inputs.subspan(2))
      row.inputs.push_back(of_optional(weight, Replicate()));
    rows.push_back(std::move(row));
  }
  return rows;
}

Shape loss_shape(const StrategyRequest& call) { return broadcast_shapes(call.inputs); }

// Returns the dim of a loss for a dim of an input; dims are aligned at the last one.
std::int64_t dim_of_loss(std::int64_t dim, const TensorType& input, const Shape& shape) {
  return dim + std::int64_t(shape.size() - input.shape.size());
}

Placement split_input(const TensorType& input, const Shape& shape, std::int64_t dim) {
  std::int64_t own = dim - std::int64_t(shape.size() - input.shape.size());
  bool has_dim = own >= 0 && input.shape[std::size_t(own)] == shape[std::size_t(dim)];
  return has_dim ? Shard(own) : Replicate();
}

Placement reduced_shard(LossReduction reduction, std::int64_t dim) {
  if (reduction == LossReduction::none) return Shard(dim);
  return Partial(reduction == LossReduction::mean ? ReduceOp::avg : ReduceOp::sum);
}

// Rows of a loss of each element, of inputs that are broadcast, and its sum or mean. PyTorch runs
// it as simpler ops, for which it tries pieces before the whole.
StrategyRows element_loss_rows(const StrategyRequest& call) {
  StrategyRows rows;
  Shape shape = loss_shape(call);
  for (std::int64_t dim = 0; dim < std::int64_t(shape.size()); ++dim) {
    StrategyRow row;
    for (const TensorType& input : call.inputs)
      row.inputs.push_back(
          of_optional(input, input.is_defined ? split_input(input, shape, dim) : Placement()));
    row.outputs.push_back(reduced_shard(reduction_of(call.attributes), dim));
    rows.push_back(std::move(row));
  }
  StrategyRow whole{{}, {Replicate()}};
  for (const TensorType& input : call.inputs)
    whole.inputs.push_back(of_optional(input, Replicate()));
  rows.push_back(std::move(whole));
  return rows;
}

// Returns the number of pieces into which each dim of the loss is cut; 0 where they are ragged.
Dims pieces_of(const MeshRequest& request, const MeshCandidate& candidate, const Shape& shape) {
  Dims pieces(shape.size(), 1);
  for (std::size_t mesh_dim = 0; mesh_dim < request.mesh_shape.size(); ++mesh_dim)
    for (std::size_t i = 0; i < candidate.inputs.size(); ++i) {
      if (!candidate.inputs[i]) continue;
      const Placement& one = (*candidate.inputs[i])[mesh_dim];
      if (!one.splits()) continue;
      std::int64_t count = one.is_ragged_shard() ? 0 : request.mesh_shape[mesh_dim];
      pieces[std::size_t(dim_of_loss(one.dim(), request.call.inputs[i], shape))] *=
          count * one.split_factor();
      break;  // the others are cut alike
    }
  return pieces;
}

// A mean of means is correct where each is of equally many elements.
bool has_even_pieces(const MeshRequest& request, const MeshCandidate& candidate) {
  if (reduction_of(request.call.attributes) != LossReduction::mean) return true;
  Shape shape = loss_shape(request.call);
  Dims pieces = pieces_of(request, candidate, shape);
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    if (pieces[dim] == 0 || shape[dim] % pieces[dim] != 0) return false;
  return true;
}

ShardingStrategy element_loss() { return {.rows = element_loss_rows, .filter = has_even_pieces}; }

}  // namespace

void losses_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"nll_loss_forward", {.rows = class_loss_rows}},
      {"mse_loss", element_loss()},
      {"huber_loss", element_loss()},
      {"smooth_l1_loss", element_loss()},
      {"binary_cross_entropy_with_logits", element_loss()},
  };
  table.add(strategies);
}

}  // namespace simmesh
