#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_formula holds the data formula to its golden values: the first random words, the first
// elements' bits, and the hash of the whole tensor.
void verify_formula(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report);

}  // namespace simmesh
