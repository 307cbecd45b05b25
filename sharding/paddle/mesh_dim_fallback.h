#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"
#include "sharding/paddle/dist_attr.h"

namespace simmesh::paddle {

// FallbackWarning says that a tensor dim which several mesh dims cut is read as cut by one.
struct FallbackWarning {
  std::int64_t tensor_dim;
  std::int64_t shards;    // the number of mesh dims that cut it
  std::int64_t mesh_dim;  // the one that is kept

  bool operator==(const FallbackWarning&) const = default;
};

// to_string returns "tensor dim 0 is cut by 2 mesh dims; an op that knows one takes mesh dim 1".
std::string to_string(const FallbackWarning& warning);

// OneMeshDim is a layout with at most one mesh dim a tensor dim: -1 for none.
struct OneMeshDim {
  Dims dims_mapping;
  std::vector<FallbackWarning> warnings;  // one a tensor dim of which something was dropped
};

// one_mesh_dim returns the layout that an op without a rule for co-shards sees: of several mesh
// dims on one tensor dim the largest is kept, of equals the one that cuts first. The tensor must
// then be resharded to it before the op. (Paddle's TensorDistAttr::dims_mapping.)
OneMeshDim one_mesh_dim(const std::vector<Dims>& dims_mapping, DimSpan mesh_shape);

}  // namespace simmesh::paddle
