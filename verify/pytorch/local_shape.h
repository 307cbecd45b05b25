#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_local_shape compares the local shape and global offset of every coordinate.
void verify_local_shape(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report);

}  // namespace simmesh
