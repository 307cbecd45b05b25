#include "sharding/plan_request.h"

#include <fmt/format.h>

namespace simmesh {

std::string to_string(const PlanRequest& request) {
  return fmt::format("{}{} on mesh {}: {} -> {}", to_string(request.dtype),
                     to_string(DimSpan(request.shape)), to_string(DimSpan(request.mesh_shape)),
                     to_string(Sharding{request.from, request.from_order}),
                     to_string(Sharding{request.to, request.to_order}));
}

}  // namespace simmesh
