#pragma once

#include <cstdint>

#include "core/tensor/shape.h"
#include "sharding/paddle/dist_attr.h"

namespace simmesh::paddle {

// shards_of returns the number of pieces into which mesh dims cut a dim together.
std::int64_t shards_of(DimSpan mesh_dims, DimSpan mesh_shape);

// drop_uneven_cuts drops the last mesh dims until the pieces are equal, so that their number
// divides the size.
void drop_uneven_cuts(Dims& mesh_dims, std::int64_t size, DimSpan mesh_shape);
// Does so for each dim of a tensor.
void drop_uneven_cuts(DistAttr& attr, DimSpan shape, DimSpan mesh_shape);

}  // namespace simmesh::paddle
