#include "sharding/paddle/spmd/co_shard.h"

namespace simmesh::paddle {

std::int64_t shards_of(DimSpan mesh_dims, DimSpan mesh_shape) {
  std::int64_t shards = 1;
  for (std::int64_t mesh_dim : mesh_dims) shards *= mesh_shape[std::size_t(mesh_dim)];
  return shards;
}

void drop_uneven_cuts(Dims& mesh_dims, std::int64_t size, DimSpan mesh_shape) {
  while (size % shards_of(mesh_dims, mesh_shape) != 0) mesh_dims.pop_back();
}

void drop_uneven_cuts(DistAttr& attr, DimSpan shape, DimSpan mesh_shape) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    drop_uneven_cuts(attr.dims_mapping[dim], shape[dim], mesh_shape);
}

}  // namespace simmesh::paddle
