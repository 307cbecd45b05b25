#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_collective runs one collective on the world, or on all groups of one mesh dim at once, and
// compares every rank's bits; or the refusal.
void verify_collective(const RecordedCase& recorded, const VerifyOptions& options,
                       CaseReport& report);

}  // namespace simmesh
