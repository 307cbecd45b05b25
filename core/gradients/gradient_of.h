#pragma once

#include "core/ops/op.h"

namespace simmesh {

// gradient_of returns how an op is differentiated: by the gradient that an op of one's own brings
// along, or by that of an op of the library, which stands below core/gradients in the file of the
// same name as the op. Null where an op has no gradient.
const Gradient* gradient_of(const Op& op);

}  // namespace simmesh
