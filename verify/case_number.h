#pragma once

#include "verify/recorded_case.h"

namespace simmesh {

// read_number reads a number, also one that isn't finite: the texts inf, -inf and nan.
double read_number(const CaseField& field);

}  // namespace simmesh
