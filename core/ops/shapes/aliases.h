#pragma once

#include "core/ops/op.h"

namespace simmesh {

// Views of all elements of a tensor, in the same order, under another name or type.

// alias returns the same elements, recorded on the tape; positive too, and raises a RuntimeError
// for bool.
Tensor alias(const Tensor& x);
Tensor positive(const Tensor& x);

// view_as_dtype reads the bytes as elements of another dtype; where those are narrower or wider,
// the last dim grows or shrinks. Raises a RuntimeError where the bytes of the last dim don't fit.
Tensor view_as_dtype(const Tensor& x, DType dtype);

// view_as_complex and view_as_real stand for PyTorch's: complex numbers are pairs of a floating
// tensor's last dim here (see core/ops/elementwise/complex.h), so that both return x. A tensor
// whose last dim isn't 2 raises a RuntimeError.
Tensor view_as_complex(const Tensor& x);
Tensor view_as_real(const Tensor& x);

}  // namespace simmesh
