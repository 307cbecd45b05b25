#pragma once

#include "core/ops/elementwise/pointwise.h"

namespace simmesh {

// In-place forms write the result of an op, converted to self's dtype, into self, and return it:
// those here overwrite self, the others are declared with their ops (add_ in pointwise.h, clamp_ in
// selection.h). They raise a RuntimeError where the result has another shape or a dtype of a higher
// kind than self's, and for a leaf that requires a gradient while gradients are enabled.

// fill_ writes one value, a number or a tensor without dims, into all elements; zero_ writes 0.
Tensor& fill_(Tensor& self, Number value);
Tensor& fill_(Tensor& self, const Tensor& value);
Tensor& zero_(Tensor& self);

// copy_from_ is PyTorch's copy_: it writes source, broadcast and converted, into self, and passes
// the gradient on to source. (copy_ of tensor.h copies elements of one shape and dtype,
// unrecorded.)
Tensor& copy_from_(Tensor& self, const Tensor& source);

}  // namespace simmesh
