#pragma once

#include "core/ops/elementwise/pointwise.h"
#include "verify/pytorch/ops/python_call.h"

namespace simmesh {

// rounding_mode_of reads the argument rounding_mode of a division. Raises a RuntimeError for
// another word than floor and trunc.
RoundingMode rounding_mode_of(const PythonCall& call);

}  // namespace simmesh
