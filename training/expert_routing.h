#pragma once

#include "training/training.h"

namespace simmesh {

// route_all_tokens tells each nn::Moe of a model which part of all tokens this rank has, as the
// form cuts rows: capacities and the losses and biases of routers then are those of one device. The
// losses of routers are means over the micro-batches of a step and add to its gradients; reported
// losses are without them. Sequences that are cut as well are left alone, since their tokens don't
// follow one another rank by rank. The biases of routers become zero, as they are at first.
void route_all_tokens(nn::Module& model, const TrainingTask& task, const ParallelForm& form);

// update_expert_biases ends a step for the routers of a model. All ranks call it.
void update_expert_biases(nn::Module& model);

}  // namespace simmesh
