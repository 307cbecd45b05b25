#include "sharding/paddle/mesh_dim_fallback.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh::paddle {

std::string to_string(const FallbackWarning& warning) {
  return fmt::format("tensor dim {} is cut by {} mesh dims; an op that knows one takes mesh dim {}",
                     warning.tensor_dim, warning.shards, warning.mesh_dim);
}

OneMeshDim one_mesh_dim(const std::vector<Dims>& dims_mapping, DimSpan mesh_shape) {
  OneMeshDim result;
  for (const Dims& cuts : dims_mapping) {
    if (cuts.empty()) {
      result.dims_mapping.push_back(-1);
      continue;
    }
    auto size_of = [&](std::int64_t mesh_dim) { return mesh_shape[std::size_t(mesh_dim)]; };
    std::int64_t kept = *std::max_element(
        cuts.begin(), cuts.end(),
        [&](std::int64_t left, std::int64_t right) { return size_of(left) < size_of(right); });
    if (cuts.size() > 1)
      result.warnings.push_back({.tensor_dim = std::int64_t(result.dims_mapping.size()),
                                 .shards = std::int64_t(cuts.size()),
                                 .mesh_dim = kept});
    result.dims_mapping.push_back(kept);
  }
  return result;
}

}  // namespace simmesh::paddle
