#pragma once

#include "training/zero_training.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// zero_train_schema is the schema of a case of the kind zero_train.
Schema zero_train_schema();

// read_zero_task returns the task of such a case. Rejects layers, parameters and keys of
// zero_optimization that contradict each other.
ZeroTask read_zero_task(const RecordedCase& recorded);

}  // namespace simmesh
