#include "sharding/redistribute/plan.h"

#include <algorithm>

#include "core/check/check.h"
#include "core/check/join_text.h"

namespace simmesh {

std::string_view to_string(PlannerKind kind) {
  switch (kind) {
    case PlannerKind::greedy: return "greedy";
    case PlannerKind::graph: return "graph";
    case PlannerKind::unwind: return "unwind";
  }
  SIMMESH_CHECK(false, "unknown PlannerKind {}", static_cast<int>(kind));
}

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::none: return "none";
    case Collective::all_reduce: return "all_reduce";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::all_gather: return "all_gather";
    case Collective::all_to_all: return "all_to_all";
  }
  SIMMESH_CHECK(false, "unknown Collective {}", static_cast<int>(collective));
}

Collective collective_of(const PlanStep& step, DimSpan mesh_shape) {
  const bool alone = std::all_of(step.mesh_dims.begin(), step.mesh_dims.end(),
                                 [&](std::int64_t mesh_dim) { return mesh_shape[mesh_dim] == 1; });
  if (alone || step.from == step.to || step.from.is_replicate()) return Collective::none;
  if (embeds_shard(step.from, step.to)) return Collective::none;
  if (step.from.is_partial())
    return step.to.is_shard() ? Collective::reduce_scatter : Collective::all_reduce;
  return step.from.is_shard() && step.to.is_shard() ? Collective::all_to_all
                                                    : Collective::all_gather;
}

std::string to_string(const PlanStep& step) {
  return fmt::format("{}{}{} on mesh dim{} {}", to_string(step.from), step.merged ? "-->" : "->",
                     to_string(step.to), step.mesh_dims.size() == 1 ? "" : "s",
                     join_text(step.mesh_dims, "+"));
}

std::string to_string(const Plan& plan, DimSpan mesh_shape) {
  std::string text;
  for (const PlanStep& step : plan.steps) {
    text += fmt::format("{}: {}", to_string(step), to_string(collective_of(step, mesh_shape)));
    if (step.divide_by != 1) text += fmt::format(", divided by {}", step.divide_by);
    text += fmt::format(", then {}\n", to_string(step.after));
  }
  return text;
}

}  // namespace simmesh
