#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_redistribute builds the source on every rank, redistributes it with each planner that the
// case names, and compares plan, collectives and the bits of every rank; or the refusal.
void verify_redistribute(const RecordedCase& recorded, const VerifyOptions& options,
                         CaseReport& report);

}  // namespace simmesh
