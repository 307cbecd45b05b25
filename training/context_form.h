#pragma once

#include "sharding/parallel/context_parallel.h"
#include "training/training.h"

namespace simmesh {

// with_context returns a form of training in which sequences are cut too: of its rows a rank takes
// the positions, along dim 1 of inputs and targets, that are its own over a mesh of one dim, and
// the attention of the model runs over all of them (see ContextParallel). The form's gradients and
// losses have to be sums over the ranks of this mesh as well.
ParallelForm with_context(ParallelForm form, const ContextParallel& style, const DeviceMesh& mesh);

}  // namespace simmesh
