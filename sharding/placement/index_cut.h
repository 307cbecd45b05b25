#pragma once

#include "core/tensor/tensor.h"
#include "sharding/placement/shard_rule.h"

namespace simmesh {

// IndexCut names which indices of a dim a tensor holds, and which of them, in which order, are
// wanted.
struct IndexCut {
  std::int64_t dim = 0;
  const IndexRuns& held;
  const IndexRuns& wanted;
};

// embed_indices returns a contiguous tensor of the wanted indices of one dim, all of them zero, to
// which what is held is added: a NaN stays, and -0 becomes +0. All that is held must be wanted.
Tensor embed_indices(const Tensor& tensor, const IndexCut& cut);

// cut_indices returns a contiguous tensor of the wanted indices of one dim. All of them must be
// held.
Tensor cut_indices(const Tensor& tensor, const IndexCut& cut);

}  // namespace simmesh
