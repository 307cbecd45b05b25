#pragma once

#include "training/training.h"

namespace simmesh {

// init_from_meta gives the parameters and buffers of a model that was built on the meta device
// memory and the values of its description, once it is distributed: each rank gets its piece of
// each value, and no rank ever holds the whole model. The values are made in memory of the host,
// which isn't charged. Call it between build_meta_model, which is followed by what distributes the
// model, and the first step.
void init_from_meta(const TrainingModel& described, nn::Module& model);

}  // namespace simmesh
