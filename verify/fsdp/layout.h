#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_fsdp_layout compares shapes, placements, flat buffers, dtypes and bits of one forward and
// one backward pass with given gradients.
void verify_fsdp_layout(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report);

}  // namespace simmesh
