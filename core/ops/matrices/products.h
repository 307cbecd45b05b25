#pragma once

#include <string_view>

#include "core/ops/kernels/scales.h"
#include "core/ops/op.h"

namespace simmesh {

// Matrix products, computed as the Arithmetic says. Operands are of one dtype, floating or integer;
// each element is rounded once. Wrong shapes and dtypes raise a RuntimeError.

// mm is the product of a[n, k] and b[k, m].
Tensor mm(const Tensor& a, const Tensor& b);

// bmm is the product of each a[b, n, k] and b[b, k, m].
Tensor bmm(const Tensor& a, const Tensor& b);

// addmm is beta * addend + alpha * a b; the addend is broadcast to [n, m]. With beta = 0 the addend
// isn't read. The sum is added in the accumulator's type and rounded once.
Tensor addmm(const Tensor& addend, const Tensor& a, const Tensor& b, const Scales& scales = {});

// baddbmm is addmm of each matrix of a batch.
Tensor baddbmm(const Tensor& addend, const Tensor& a, const Tensor& b, const Scales& scales = {});

// matmul is the product of the last two dims, over broadcast leading ones; a vector is a row on the
// left and a column on the right, and the result is without that dim.
Tensor matmul(const Tensor& a, const Tensor& b);

// addmv is addmm of a matrix and a vector; the addend is a vector, or a number.
Tensor addmv(const Tensor& addend, const Tensor& matrix, const Tensor& vector,
             const Scales& scales = {});

// mv is the product of a matrix and a vector; dot that of two vectors; outer holds all products of
// their elements.
Tensor mv(const Tensor& matrix, const Tensor& vector);
Tensor dot(const Tensor& a, const Tensor& b);
Tensor outer(const Tensor& a, const Tensor& b);

// linear is x[..., in] weight[out, in]^T + bias[out]. An undefined bias adds nothing. The bias is
// added to the finished sum in the accumulator's type, before the one rounding.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace simmesh
