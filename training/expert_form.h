#pragma once

#include "sharding/parallel/expert_parallel.h"
#include "training/training.h"

namespace simmesh {

// with_experts returns a form of training in which the experts of the model are first distributed
// over the ranks of a mesh of one dim (see ExpertParallel). The ranks take different rows or
// positions, and the form's losses and other gradients must be sums over them as well; the gradient
// of an expert is already such a sum, on the rank that has it. Where fully_shard shards experts,
// they have a mesh of their own, the form's divisor applies to them too, and experts that no token
// chose in a step have no gradient. Norms are those of all experts, and reported tensors are
// gathered from the ranks that have them.
ParallelForm with_experts(ParallelForm form, const ExpertParallel& style, const DeviceMesh& mesh);

}  // namespace simmesh
