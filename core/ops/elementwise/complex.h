#pragma once

#include "core/ops/op.h"

namespace simmesh {

// Complex numbers as a floating tensor whose last dim has two elements, the real and the imaginary
// part, as torch.view_as_real returns them. There is no complex dtype. A tensor that isn't
// floating, or whose last dim has another size, raises a RuntimeError.

// as_complex cuts the last dim into pairs: [..., 2 n] to [..., n, 2]; as_real joins them again.
Tensor as_complex(const Tensor& x);
Tensor as_real(const Tensor& z);

// complex returns real and imaginary parts of one shape as pairs; polar has magnitude and angle.
Tensor complex(const Tensor& real, const Tensor& imaginary);
Tensor polar(const Tensor& magnitude, const Tensor& angle);

// complex_mul multiplies, broadcasting all dims but the last: each part is two products, each
// rounded, and their sum.
Tensor complex_mul(const Tensor& a, const Tensor& b);

// complex_conj negates the imaginary part.
Tensor complex_conj(const Tensor& z);

// complex_abs returns the magnitudes, without the last dim. Its gradient at zero is zero.
Tensor complex_abs(const Tensor& z);

// apply_rotary turns the neighbouring pairs of the last dim of x by unit complex numbers
// frequencies[..., n, 2] that broadcast to its pairs: rotary position embedding.
Tensor apply_rotary(const Tensor& x, const Tensor& frequencies);

}  // namespace simmesh
