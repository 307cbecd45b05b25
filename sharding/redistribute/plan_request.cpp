#include "sharding/redistribute/plan_request.h"

#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh {

PlannerChoice planner_choice_from_string(std::string_view name) {
  if (name == "automatic") return PlannerChoice::automatic;
  if (name == "greedy") return PlannerChoice::greedy;
  if (name == "graph") return PlannerChoice::graph;
  raise(ErrorKind::value_error, "sharding/plan_request",
        "planner: expected automatic, greedy or graph, got '{}'", name);
}

std::string to_string(const PlanRequest& request) {
  return fmt::format("{}{} on mesh {}: {} -> {}", to_string(request.dtype),
                     to_string(DimSpan(request.shape)), to_string(DimSpan(request.mesh_shape)),
                     to_string(Sharding{request.from, request.from_order}),
                     to_string(Sharding{request.to, request.to_order}));
}

}  // namespace simmesh
