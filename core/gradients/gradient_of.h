#pragma once

#include "core/ops/op.h"

namespace simmesh {

// gradient_of returns the gradient rule of an op: the one that a user's op brings along, or that of
// an op of the library, from the file below core/gradients with the op's name. Null where an op has
// no gradient.
const Gradient* gradient_of(const Op& op);

}  // namespace simmesh
