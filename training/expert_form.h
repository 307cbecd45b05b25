#pragma once

#include "sharding/parallel/expert_parallel.h"
#include "training/training.h"

namespace simmesh {

// with_experts returns a form of training in which the experts of the model are spread over the
// ranks of a mesh of one dim before anything else is done to it (see ExpertParallel). The ranks
// take different rows or positions, and the form's losses and other gradients have to be sums over
// them as well; an expert's gradient is such a sum already, where the expert is. Where fully_shard
// has experts, they have a mesh of their own, the form's divisor is theirs too, and those that no
// token chose in a step have no gradient. Norms are those of all experts, and what is reported is
// brought together from the ranks that have them.
ParallelForm with_experts(ParallelForm form, const ExpertParallel& style, const DeviceMesh& mesh);

}  // namespace simmesh
