#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_plan compares steps and costs, as doubles, of both planners where the case names both.
void verify_plan(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report);

}  // namespace simmesh
