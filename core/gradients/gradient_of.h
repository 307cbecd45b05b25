#pragma once

#include "core/ops/op.h"

namespace simmesh {

// gradient_of returns the gradient of an op: the one that an op of one's own brings along, or that
// of an op of the library, which is in a source below core/gradients with the same name as the
// op's. Null where an op has no gradient.
const Gradient* gradient_of(const Op& op);

}  // namespace simmesh
