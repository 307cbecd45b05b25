#pragma once

#include <vector>

#include "sharding/placement/shard_order.h"
#include "verify/case_tensor.h"

namespace simmesh {

// CaseSource returns the ranks' pieces of a sharded logical tensor by formula. Where placements are
// partial, each combination of coordinates on those mesh dims is a logical tensor of its own: seed
// + 1 + its row-major index.
class CaseSource {
 public:
  // Computes all logical tensors; bound their size first (see require_elements). Raises a
  // ValueError for another number of placements than mesh dims, and as `normalized` does.
  CaseSource(const CaseTensor& tensor, DimSpan mesh_shape, Sharding sharding);

  // local returns the piece of a coordinate. May be called by ranks on several threads.
  Tensor local(DimSpan coordinate) const;

  // logical_count is the number of logical tensors of a sharding.
  static std::int64_t logical_count(DimSpan mesh_shape, PlacementSpan placements);

 private:
  std::size_t logical_index(DimSpan coordinate) const;

  Shape shape_;
  Dims mesh_shape_;
  Sharding sharding_;
  std::vector<Tensor> logical_;
};

}  // namespace simmesh
