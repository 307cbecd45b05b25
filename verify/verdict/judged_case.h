#pragma once

#include "core/findings/judged_checks.h"
#include "verify/verdict/case_result.h"

namespace simmesh {

// judged_check returns a recorded case as a check, in the suite of its kind.
JudgedCheck judged_check(const CaseResult& result);

}  // namespace simmesh
