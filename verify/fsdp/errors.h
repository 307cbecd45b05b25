#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_fsdp_errors compares what a misuse raises: class, place and words, on each rank.
void verify_fsdp_errors(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report);

}  // namespace simmesh
