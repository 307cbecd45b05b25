#include "sharding/redistribute/plan_request.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh {

namespace {

// Returns true if the product of the sizes and of a factor is at most max. Sizes aren't negative.
bool is_within(DimSpan sizes, std::int64_t factor, std::int64_t max) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
  for (std::int64_t size : sizes) {
    if (factor > max / size) return false;
    factor *= size;
  }
  return factor <= max;
}

}  // namespace

PlannerChoice planner_choice_from_string(std::string_view name) {
  if (name == "automatic") return PlannerChoice::automatic;
  if (name == "greedy") return PlannerChoice::greedy;
  if (name == "graph") return PlannerChoice::graph;
  raise(ErrorKind::value_error, "sharding/plan_request",
        "planner: expected automatic, greedy or graph, got '{}'", name);
}

void check_bounds(const PlanRequest& request) {
  if (!is_within(request.mesh_shape, 1, plan_ranks_max))
    raise(ErrorKind::value_error, "sharding/plan_request",
          "expected a mesh of at most {} ranks, got {}", plan_ranks_max,
          to_string(DimSpan(request.mesh_shape)));
  auto element_bytes = std::int64_t(bytes_per_element(request.dtype));
  if (!is_within(request.shape, element_bytes, plan_bytes_max))
    raise(ErrorKind::value_error, "sharding/plan_request",
          "expected a tensor of at most {} bytes, got {}{}", plan_bytes_max,
          to_string(request.dtype), to_string(DimSpan(request.shape)));
}

std::string to_string(const PlanRequest& request) {
  return fmt::format("{}{} on mesh {}: {} -> {}", to_string(request.dtype),
                     to_string(DimSpan(request.shape)), to_string(DimSpan(request.mesh_shape)),
                     to_string(Sharding{request.from, request.from_order}),
                     to_string(Sharding{request.to, request.to_order}));
}

}  // namespace simmesh
