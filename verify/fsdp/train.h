#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_train runs a training run on one device: its losses, gradient norms and final parameters
// within the case's tolerance (kind train), or bit for bit (kind train_exact).
void verify_train(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report);

}  // namespace simmesh
