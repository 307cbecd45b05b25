#pragma once

#include "core/samples/op_sample.h"

namespace simmesh {

// samples_of returns the sample calls of an op of the library, room by room; none for another
// op.
const std::vector<const OpSample*>& samples_of(const Op& op);

}  // namespace simmesh
