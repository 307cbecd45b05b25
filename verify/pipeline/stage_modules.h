#pragma once

#include <string>
#include <vector>

#include "core/nn/module.h"
#include "training/training.h"

namespace simmesh {

// build_stage_modules makes the modules of some stages on this rank: each is a sequential of the
// children of the model that it names. Of these, sum, take, gate, counter, boom and dict are of
// kinds that only pipelines have. Parameters are tied, filled and frozen as the model says, where
// this rank has them. Raises a ValueError for a child or a parameter that isn't described.
std::vector<nn::ModulePtr> build_stage_modules(const TrainingModel& model,
                                               const std::vector<std::vector<std::string>>& stages);

}  // namespace simmesh
