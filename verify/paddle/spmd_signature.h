#pragma once

#include <string>

#include "verify/recorded_case.h"

namespace simmesh {

// require_spmd_signature compares the inputs and attributes of a call with the signature of the
// op's rule in Paddle: the number of both, which inputs are lists, and the type of each attribute.
// An op without a signature here may have any. Raises a BadCase.
void require_spmd_signature(const std::string& op, const CaseField& inputs,
                            const CaseField& attributes);

}  // namespace simmesh
