#pragma once

#include <cstdint>

#include "training/training.h"
#include "verify/recorded_case.h"

namespace simmesh {

// RunSize is how often a case runs its model, and on which inputs.
struct RunSize {
  std::int64_t ranks = 1;
  std::int64_t steps = 1;  // of each rank, each with at most one pass through the model
  std::int64_t kept = 1;   // passes whose results exist at the same time
  Shape input;             // the largest of a pass
};

// require_work raises a BadCase that blames `field` where running a model would take more memory or
// time than a case may. Sizes come from outside, so call it before a module is built.
void require_work(const CaseField& field, const TrainingModel& model, const RunSize& size);

}  // namespace simmesh
