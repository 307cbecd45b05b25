#pragma once

#include "core/tensor/tensor.h"
#include "sharding/placement/shard_rule.h"

namespace simmesh {

// IndexCut names the indices of a dim that a tensor holds, and those that are wanted, in order.
struct IndexCut {
  std::int64_t dim = 0;
  const IndexRuns& held;
  const IndexRuns& wanted;
};

// embed_indices returns a contiguous tensor of the wanted indices of one dim: zeros, to which the
// held elements are added, so that a NaN stays and -0 becomes +0. All held indices must be wanted.
Tensor embed_indices(const Tensor& tensor, const IndexCut& cut);

// cut_indices returns a contiguous tensor of the wanted indices of one dim. All of them must be
// held.
Tensor cut_indices(const Tensor& tensor, const IndexCut& cut);

}  // namespace simmesh
