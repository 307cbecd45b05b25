#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_grad runs a gradient back through full_tensor, redistribute, to_local and from_local, and
// compares the leaf's gradient on every rank, its placements, and the collectives of the pass.
void verify_grad(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report);

}  // namespace simmesh
