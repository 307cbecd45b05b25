#pragma once

#include <cstdint>
#include <optional>

#include "core/tensor/tensor.h"

namespace simmesh::optim {

// NewtonSchulz is a way to iterate: on the matrix itself, in bfloat16, or on the product with its
// transpose (Gram), which is smaller for long matrices, in float16.
enum class NewtonSchulz : std::uint8_t { standard, gram };

// orthogonalized returns a matrix with the singular vectors of x[..., n, m] whose singular values
// are near 1, after so many steps of DeepSpeed's quintic iteration. Every product is rounded to the
// dtype of the method, or to another one. The result has that dtype.
Tensor orthogonalized(const Tensor& x, NewtonSchulz method, int steps = 5,
                      std::optional<DType> dtype = {});

}  // namespace simmesh::optim
