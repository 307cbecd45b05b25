#include "sharding/paddle/optimizer_state_layout.h"

#include "core/check/error.h"

namespace simmesh::paddle {

Placements optimizer_state_layout(PlacementSpan parameter, std::int64_t tensor_dims,
                                  std::int64_t sharding_dim) {
  constexpr std::string_view where = "sharding/optimizer_state_layout";
  if (sharding_dim < 0 || sharding_dim >= std::int64_t(parameter.size()))
    raise(ErrorKind::index_error, where, "expected a mesh dim below {}, got {}", parameter.size(),
          sharding_dim);
  std::int64_t cut = -1;
  for (const Placement& placement : parameter) {
    if (!placement.splits()) continue;
    if (cut >= 0)
      raise(ErrorKind::assertion_error, where,
            "The parameter can't be shard twice with sharding strategy even in different mesh now: "
            "expected at most one shard, got {}",
            to_string(parameter));
    cut = placement.dim() < 0 ? placement.dim() + tensor_dims : placement.dim();
  }
  Placements chosen(parameter.begin(), parameter.end());
  std::int64_t first_free = cut == 0 ? 1 : 0;
  if (first_free < tensor_dims) chosen[std::size_t(sharding_dim)] = Shard(first_free);
  return chosen;
}

}  // namespace simmesh::paddle
