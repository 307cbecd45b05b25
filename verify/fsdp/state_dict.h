#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_fsdp_state_dict compares which tensors share storage after each step of a program, and
// what was reset and resharded.
void verify_fsdp_state_dict(const RecordedCase& recorded, const VerifyOptions& options,
                            CaseReport& report);

}  // namespace simmesh
