#pragma once

#include "verify/verify.h"

namespace simmesh {

// verify_mesh runs a mesh program as every rank of the world sees it: init or array, then slices,
// flattens, unflattens, concatenations and queries. It compares shape, names and each rank's
// coordinate, ranks, groups and local ranks, or the refusal, which every rank of the mesh must
// meet.
void verify_mesh(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report);

}  // namespace simmesh
