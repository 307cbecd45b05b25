#pragma once

#include "sharding/parallel/context_parallel.h"
#include "training/training.h"

namespace simmesh {

// with_context returns a form of training in which sequences are cut too: from its rows a rank
// takes its own positions over a mesh of one dim, along dim 1 of inputs and targets, and the
// attention of the model runs over all positions (see ContextParallel). The form's gradients and
// losses must be sums over the ranks of this mesh as well.
ParallelForm with_context(ParallelForm form, const ContextParallel& style, const DeviceMesh& mesh);

}  // namespace simmesh
