#pragma once

#include "core/ops/neural/losses.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// loss_parallel_cross_entropy is cross_entropy of logits [N, C], or [N, C, d...], that are split
// along their classes over one mesh dim, without gathering them: a maximum, a sum and the picked
// logarithms go over that dim, each of one number a row. Other mesh dims may split the batch. It is
// PyTorch's loss_parallel, and has the bits of cross_entropy of the whole logits.
//
// The target is distributed as the logits without the classes, or a plain tensor where these are
// replicated on all other mesh dims. The loss is replicated over the mesh dim that splits the
// classes; where the batch is split, a sum or mean is replicated and losses of elements stay split.
//
// Raises a ValueError where none or more than one mesh dim splits the classes, where another mesh
// dim holds a Partial placement, and for label smoothing; else raises as cross_entropy does.
Tensor loss_parallel_cross_entropy(const Tensor& logits, const Tensor& target,
                                   const ClassLoss& options = {});

}  // namespace simmesh
