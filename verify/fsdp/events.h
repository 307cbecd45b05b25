#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_fsdp_events compares the sequence of events of every step of a program, on rank 0, and
// whether all ranks did the same.
void verify_fsdp_events(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report);

// verify_fsdp_counts compares the numbers of collectives, in all and of each pass.
void verify_fsdp_counts(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report);

}  // namespace simmesh
