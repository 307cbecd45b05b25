#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_zero_train runs a training run as DeepSpeed does at stage 0: losses, norms, loss scales
// and parameters of every step, bit for bit or within the case's tolerance.
void verify_zero_train(const RecordedCase& recorded, const VerifyOptions& options,
                       CaseReport& report);

}  // namespace simmesh
