#include "sharding/redistribute/step_feasibility.h"

#include <algorithm>

#include "core/check/check.h"
#include "sharding/placement/local_shape.h"

namespace simmesh {
namespace {

void sort_runs(IndexRuns& runs) {
  std::sort(runs.begin(), runs.end(),
            [](const IndexRun& left, const IndexRun& right) { return left.start < right.start; });
}

// covers expects sorted runs; those of `held` may overlap.
bool covers(const IndexRuns& held, const IndexRuns& wanted) {
  std::size_t next = 0;
  std::int64_t held_end = 0;  // everything in [held_begin, held_end) is held
  std::int64_t held_begin = 0;
  for (const IndexRun& run : wanted) {
    while (next < held.size() && held[next].start <= std::max(held_end, run.start)) {
      if (held[next].start > held_end) held_begin = held[next].start;
      held_end = std::max(held_end, held[next].end());
      ++next;
    }
    if (run.start < held_begin || run.end() > held_end) return false;
  }
  return true;
}

struct DimCheck {
  DimSpan global_shape;
  DimSpan mesh_shape;
  std::int64_t tensor_dim;
  std::int64_t mesh_dim;  // of the step
  bool embeds;            // each member only puts its own piece in its place
  const Sharding& before;
  const Sharding& after;

  IndexRuns runs(const Sharding& sharding, DimSpan coordinate) const {
    return local_index_runs(global_shape, tensor_dim, mesh_shape, coordinate, sharding.placements,
                            sharding.order);
  }

  // group_is_served checks the group through `coordinate`.
  bool group_is_served(Dims& coordinate) const {
    IndexRuns held;
    const std::int64_t members = mesh_shape[mesh_dim];
    for (std::int64_t index = 0; index < members; ++index) {
      coordinate[mesh_dim] = index;
      for (const IndexRun& run : runs(before, coordinate)) held.push_back(run);
    }
    sort_runs(held);
    bool served = true;
    for (std::int64_t index = 0; served && index < members; ++index) {
      coordinate[mesh_dim] = index;
      IndexRuns wanted = runs(after, coordinate);
      sort_runs(wanted);
      served = covers(held, wanted);
      if (!served || !embeds) continue;
      IndexRuns own = runs(before, coordinate);
      sort_runs(own);
      served = covers(wanted, own);
    }
    coordinate[mesh_dim] = 0;
    return served;
  }

  bool holds() const {
    // One coordinate stands for all along mesh dims that don't split the tensor dim.
    Dims sizes(mesh_shape.size(), 1);
    bool nested = false;
    for (std::size_t other = 0; other < sizes.size(); ++other) {
      if (static_cast<std::int64_t>(other) == mesh_dim) continue;
      if (!before.placements[other].splits(tensor_dim)) continue;
      sizes[other] = mesh_shape[other];
      nested = true;
    }
    if (!nested) return true;
    Dims coordinate(sizes.size(), 0);
    do {
      if (!group_is_served(coordinate)) return false;
    } while (next_index(coordinate, sizes));
    return true;
  }
};

}  // namespace

bool step_is_feasible(DimSpan global_shape, DimSpan mesh_shape, const Sharding& before,
                      const PlanStep& step) {
  SIMMESH_CHECK(step.mesh_dims.size() == 1, "a step on {} mesh dims", step.mesh_dims.size());
  if (numel(global_shape) == 0) return true;
  for (const Placement* placement : {&step.from, &step.to}) {
    if (!placement->splits()) continue;
    const DimCheck check{.global_shape = global_shape,
                         .mesh_shape = mesh_shape,
                         .tensor_dim = placement->dim(),
                         .mesh_dim = step.mesh_dims.front(),
                         .embeds = embeds_shard(step.from, step.to),
                         .before = before,
                         .after = step.after};
    if (!check.holds()) return false;
  }
  return true;
}

bool plan_is_feasible(DimSpan global_shape, DimSpan mesh_shape, const Sharding& from,
                      gsl::span<const PlanStep> steps) {
  const Sharding* before = &from;
  for (const PlanStep& step : steps) {
    if (!step_is_feasible(global_shape, mesh_shape, *before, step)) return false;
    before = &step.after;
  }
  return true;
}

}  // namespace simmesh
