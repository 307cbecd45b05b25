#include "sharding/redistribute/redistribute_refusals.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/release/release_change.h"

namespace simmesh {
namespace {

constexpr std::string_view redistribute_source = "sharding/redistribute";

void check_one_placement_a_mesh_dim(const PlanRequest& request) {
  const Dims& mesh_shape = request.mesh_shape;
  if (mesh_shape.empty() || mesh_shape.size() > static_cast<std::size_t>(dims_max) ||
      std::any_of(mesh_shape.begin(), mesh_shape.end(), [](std::int64_t size) { return size < 1; }))
    raise(ErrorKind::value_error, redistribute_source,
          "expected a mesh of 1 to {} dims of at least 1, got {}", dims_max, to_string(mesh_shape));
  if (request.shape.size() > static_cast<std::size_t>(dims_max))
    raise(ErrorKind::value_error, redistribute_source,
          "expected a tensor of at most {} dims, got {}", dims_max, request.shape.size());
  if (request.from.size() != mesh_shape.size() || request.to.size() != mesh_shape.size())
    raise(ErrorKind::value_error, redistribute_source,
          "expected one placement a mesh dim of {}, got {} in the source ({}) and {} in the target "
          "({})",
          to_string(mesh_shape), request.from.size(), to_string(request.from), request.to.size(),
          to_string(request.to));
}

void check_topology(const Topology& topology) {
  const bool sound = topology.bandwidth_intra_gb_s > 0 && topology.bandwidth_inter_factor > 0 &&
                     topology.latency_intra_us >= 0 && topology.latency_inter_us >= 0 &&
                     topology.base_us >= 0 && topology.all_to_all_penalty_us >= 0;
  if (!sound)
    raise(ErrorKind::value_error, redistribute_source,
          "expected a topology of positive bandwidths and of times of at least 0, got bandwidth {} "
          "GB/s (times {} between hosts), latencies {} and {} us, base {} us, penalty {} us",
          topology.bandwidth_intra_gb_s, topology.bandwidth_inter_factor, topology.latency_intra_us,
          topology.latency_inter_us, topology.base_us, topology.all_to_all_penalty_us);
}

void check_partial_ops(PlacementSpan placements) {
  const Placement* first = nullptr;
  const auto family = [](ReduceOp op) { return op == ReduceOp::avg ? ReduceOp::sum : op; };
  for (const Placement& placement : placements) {
    if (!placement.is_partial()) continue;
    if (!first) first = &placement;
    if (family(first->reduce_op()) != family(placement.reduce_op()))
      raise(
          ErrorKind::value_error, redistribute_source,
          "Mixed Partial reduce types are not supported, except sum with avg: got {} and {} in {}",
          to_string(*first), to_string(placement), to_string(placements));
  }
}

void check_order(const ShardOrder& order, PlacementSpan placements) {
  ShardOrder::of({order.entries().begin(), order.entries().end()}, placements);
}

}  // namespace

void validate_redistribute(const PlanRequest& request) {
  check_one_placement_a_mesh_dim(request);
  for (std::size_t mesh_dim = 0; mesh_dim < request.to.size(); ++mesh_dim) {
    const Placement& from = request.from[mesh_dim];
    const Placement& to = request.to[mesh_dim];
    bool can_embed = has(request.release, ReleaseChange::shard_to_partial_sum);
    if (!to.is_partial() || from == to || (can_embed && embeds_shard(from, to))) continue;
    raise(ErrorKind::runtime_error, redistribute_source,
          "Can not redistribute from {} to {} on mesh dim {}, {}!", to_string(from), to_string(to),
          mesh_dim,
          can_embed ? "only Shard to Partial(sum) redistribution is supported"
                    : "redistributing to Partial is for internal use only");
  }
  validate_local_redistribute(request);
}

void validate_local_redistribute(const PlanRequest& request) {
  check_one_placement_a_mesh_dim(request);
  check_topology(request.topology);
  check_partial_ops(request.from);
  check_partial_ops(request.to);
  const auto tensor_dims = static_cast<std::int64_t>(request.shape.size());
  const Placements from = normalized(request.from, tensor_dims);
  const Placements to = normalized(request.to, tensor_dims);
  check_order(request.from_order, from);
  check_order(request.to_order, to);
}

void validate_steps(const Plan& plan, const PlanRequest& request) {
  bool can_embed = has(request.release, ReleaseChange::shard_to_partial_sum);
  for (const PlanStep& step : plan.steps) {
    const std::int64_t mesh_dim = step.mesh_dims.front();
    if (!step.to.is_partial() || step.from == step.to || request.mesh_shape[mesh_dim] == 1)
      continue;
    if (can_embed && embeds_shard(step.from, step.to)) continue;
    if (step.from.splits())
      raise(ErrorKind::runtime_error, redistribute_source,
            "redistributing mesh dim {} from {} to {} is not supported yet", mesh_dim,
            to_string(step.from), to_string(step.to));
    if (step.from.is_partial())
      raise(ErrorKind::assertion_error, redistribute_source,
            "Redistribution from one partial type ({}) to another ({}) is unsupported: mesh dim {} "
            "would have to be reduced first",
            to_string(step.from), to_string(step.to), mesh_dim);
    // A look-up in a table reads whole indices.
    if (!step.to.table_shape().empty()) continue;
    const ReduceOp op = step.to.reduce_op();
    const bool kept =
        op == ReduceOp::sum || op == ReduceOp::avg || op == ReduceOp::min || op == ReduceOp::max;
    if (!step.to.is_plain_partial() || !kept)
      raise(ErrorKind::value_error, redistribute_source,
            "Replicate to {} conversion is not supported (mesh dim {}): expected sum, avg, min or "
            "max",
            to_string(step.to), mesh_dim);
  }
}

}  // namespace simmesh
