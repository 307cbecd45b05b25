#include "sharding/redistribute/merge_steps.h"

#include <algorithm>
#include <functional>

#include "core/check/error.h"
#include "sharding/placement/shard_rule.h"

namespace simmesh {
namespace {

bool averages(const PlanStep& step) { return step.from == Partial(ReduceOp::avg); }

Placement summed(const Placement& placement) {
  return placement == Partial(ReduceOp::avg) ? Partial(ReduceOp::sum) : placement;
}

bool mergeable(const PlanStep& step) {
  if (step.from.is_plain_partial()) return step.to.is_shard() || step.to.is_replicate();
  return step.from.is_shard() && step.to.is_replicate();
}

bool same_transition(const PlanStep& left, const PlanStep& right) {
  return summed(left.from) == summed(right.from) && left.to == right.to;
}

// counting returns the mesh dims larger than 1, ascending. It checks that they exist, and that each
// is named once.
Dims counting(Dims mesh_dims, DimSpan mesh_shape) {
  const Dims given = mesh_dims;
  std::sort(mesh_dims.begin(), mesh_dims.end());
  const auto mesh_dim_count = static_cast<std::int64_t>(mesh_shape.size());
  if (std::adjacent_find(mesh_dims.begin(), mesh_dims.end()) != mesh_dims.end() ||
      (!mesh_dims.empty() && (mesh_dims.front() < 0 || mesh_dims.back() >= mesh_dim_count)))
    raise(ErrorKind::value_error, "sharding/merge_steps",
          "expected a flattened mesh of distinct mesh dims below {}, got {}", mesh_dim_count,
          to_string(given));
  Dims result;
  for (std::int64_t mesh_dim : mesh_dims)
    if (mesh_shape[mesh_dim] > 1) result.push_back(mesh_dim);
  return result;
}

// divides_evenly is true if every rank's piece of the dim that a reduce-scatter cuts is divisible
// by `parts`.
bool divides_evenly(const Sharding& before, std::int64_t tensor_dim, std::int64_t parts,
                    DimSpan global_shape, DimSpan mesh_shape) {
  Dims members;
  for (std::int64_t mesh_dim : before.order.mesh_dims(tensor_dim, before.placements)) {
    if (!before.placements[mesh_dim].is_shard()) return false;
    members.push_back(mesh_shape[mesh_dim]);
  }
  const ChunkSizes sizes = nested_chunk_sizes(global_shape[tensor_dim], members);
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](std::int64_t size) { return size % parts == 0; });
}

PlanStep merged(gsl::span<const PlanStep> run, DimSpan mesh_shape) {
  PlanStep step;
  step.from = run.front().from;
  step.to = run.front().to;
  step.after = run.back().after;
  step.merged = true;
  for (const PlanStep& each : run) {
    step.mesh_dims.push_back(each.mesh_dims.front());
    step.cost_us += each.cost_us;
    if (!averages(each)) continue;
    step.from = Partial(ReduceOp::sum);
    step.divide_by *= mesh_shape[each.mesh_dims.front()];
  }
  std::sort(step.mesh_dims.begin(), step.mesh_dims.end());
  return step;
}

}  // namespace

std::vector<PlanStep> merge_steps(std::vector<PlanStep> steps, const Sharding& from,
                                  DimSpan global_shape, DimSpan mesh_shape,
                                  gsl::span<const Dims> flattened) {
  std::vector<Dims> meshes;
  for (const Dims& mesh_dims : flattened) meshes.push_back(counting(mesh_dims, mesh_shape));
  if (meshes.empty()) return steps;

  const auto fits = [&](gsl::span<const PlanStep> run, const Sharding& before) {
    Dims mesh_dims;
    std::int64_t parts = 1;
    for (const PlanStep& step : run) {
      mesh_dims.push_back(step.mesh_dims.front());
      parts *= mesh_shape[step.mesh_dims.front()];
    }
    const Dims wanted = counting(mesh_dims, mesh_shape);
    if (std::find(meshes.begin(), meshes.end(), wanted) == meshes.end()) return false;
    if (run.front().from.is_shard())
      return std::is_sorted(mesh_dims.begin(), mesh_dims.end(), std::greater<>());
    if (run.front().to.is_replicate()) return true;
    return std::is_sorted(mesh_dims.begin(), mesh_dims.end()) &&
           divides_evenly(before, run.front().to.dim(), parts, global_shape, mesh_shape);
  };

  std::vector<PlanStep> result;
  for (std::size_t begin = 0; begin < steps.size();) {
    std::size_t end = begin + 1;
    if (mergeable(steps[begin]))
      while (end < steps.size() && same_transition(steps[begin], steps[end])) ++end;
    const Sharding& before = begin == 0 ? from : steps[begin - 1].after;
    const gsl::span<const PlanStep> run(&steps[begin], end - begin);
    if (run.size() > 1 && fits(run, before))
      result.push_back(merged(run, mesh_shape));
    else
      result.insert(result.end(), run.begin(), run.end());
    begin = end;
  }
  return result;
}

}  // namespace simmesh
