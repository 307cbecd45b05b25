#include "sharding/propagation/propagation.h"

#include <algorithm>
#include <cmath>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "sharding/propagation/candidates.h"
#include "sharding/propagation/choose.h"
#include "sharding/strategies/derived_rows.h"
#include "sharding/strategies/filled_rows.h"
#include "sharding/strategies/strategy_of.h"

namespace simmesh {

namespace {

// Parts of a product, or of a norm, are rounded before they are combined.
bool is_rounded_in_parts(const std::optional<Placement>& entry) {
  if (!entry) return false;
  if (entry->kind() == Placement::Kind::norm_partial) return !std::isinf(entry->norm());
  return entry->is_plain_partial() && entry->reduce_op() == ReduceOp::product;
}

// True if a row would change bits. One device computes with a rounded sum, so an op on the parts of
// a partial sum loses its rounding; and the ranks' parts of a sum of integers are rounded where the
// results are floating. An op that only moves elements takes the unrounded sums along.
bool loses_bits(const StrategyRow& row, const PropagationRequest& request,
                const TensorTypes& outputs, const ShardingStrategy& strategy) {
  bool moves = request.op->moves || request.op->view;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    if (!row.inputs[i] || !adds_up(*row.inputs[i]) || strategy.adds_unrounded(i)) continue;
    if (is_floating_point(request.inputs[i].dtype) ? !moves : is_floating_point(outputs[0].dtype))
      return true;
  }
  for (std::size_t i = 0; i < row.outputs.size() && !moves; ++i)
    if (is_rounded_in_parts(row.outputs[i]) && is_floating_point(outputs[i].dtype)) return true;
  return false;
}

StrategyRows rows_of(const PropagationRequest& request, const MeshRequest& mesh_request,
                     const ShardingStrategy& strategy, const TensorTypes& outputs) {
  StrategyRows rows = strategy.rows ? strategy.rows(mesh_request.call) : StrategyRows();
  rows = filled_rows(std::move(rows), mesh_request.call, mesh_request.given);
  if (strategy.is_derived) rows = derived_rows(std::move(rows), mesh_request.given);
  if (request.keeps_bits)
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const StrategyRow& row) {
                                return loses_bits(row, request, outputs, strategy);
                              }),
               rows.end());
  return rows;
}

[[noreturn]] void refuse(const PropagationRequest& request) {
  if (request.destination == Destination::in_place)
    raise(ErrorKind::runtime_error, "sharding/propagation",
          "{}: in-place operations that require placement changes are not supported. The input has "
          "placement {}, but no valid strategy preserves this placement. Please use the "
          "out-of-place version of this operation instead.",
          request.op->name, to_string(*request.given[0]));
  raise(ErrorKind::runtime_error, "sharding/propagation",
        "{}: no valid sharding strategy for the input placements, got {}", request.op->name,
        to_string(request));
}

std::vector<std::optional<Sharding>> shardings_of(
    const std::vector<std::optional<Placements>>& lists, const PropagationRequest& request) {
  std::vector<std::optional<Sharding>> result(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (lists[i]) result[i] = sharding_of(*lists[i], request);
  return result;
}

// Returns nothing where no candidate fits.
std::optional<Propagation> propagation_of(const PropagationRequest& request, Moves moves) {
  Propagation result;
  result.strategy = strategy_of(*request.op);
  if (!result.strategy)
    raise(ErrorKind::not_implemented_error, "sharding/propagation",
          "Operator {} does not have a sharding strategy registered; expected plain tensors, got "
          "{}",
          request.op->name, to_string(request));
  result.output_types = infer_types(*request.op, request.inputs, request.attributes);
  std::vector<std::optional<Placements>> given(request.given.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (request.given[i]) given[i] = request.given[i]->placements;
  MeshRequest mesh_request{{request.inputs, result.output_types, request.attributes},
                           given,
                           request.mesh_shape,
                           request.given};
  const ShardingStrategy& strategy = *result.strategy;
  std::optional<MeshCandidate> chosen =
      strategy.over_mesh
          ? choose_candidate(request, mesh_request, strategy.over_mesh(mesh_request), strategy)
          : choose_rows(request, mesh_request,
                        rows_of(request, mesh_request, strategy, result.output_types), strategy,
                        moves);
  if (!chosen) return std::nullopt;
  result.inputs = shardings_of(chosen->inputs, request);
  result.outputs = shardings_of(chosen->outputs, request);
  CandidateCosts costs(request);
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.given[i]) {
      result.inputs[i].reset();
      continue;
    }
    if (!result.inputs[i]) result.inputs[i] = request.given[i];
    if (*result.inputs[i] == *request.given[i]) continue;
    result.moves_inputs = true;
    result.cost_us += costs.cost_us(i, result.inputs[i]->placements);
  }
  return result;
}

}  // namespace

Propagation propagate(const PropagationRequest& request) {
  std::optional<Propagation> found = propagation_of(request, Moves::allowed);
  if (!found) refuse(request);
  return std::move(*found);
}

std::optional<Propagation> propagate_unmoved(const PropagationRequest& request) {
  std::optional<Propagation> found = propagation_of(request, Moves::left_out);
  return found && !found->moves_inputs ? std::move(found) : std::nullopt;
}

}  // namespace simmesh
