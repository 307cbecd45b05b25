#pragma once

#include <gsl/span>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh {

// Flat tensors have one dim, and hold tensors one after another, each in row-major order.

// flat_parts returns views of a flat tensor: one for each shape, from its element `start` on.
// Raises an IndexError where they don't fit.
std::vector<Tensor> flat_parts(const Tensor& flat, gsl::span<const Shape> shapes,
                               std::int64_t start = 0);

// copy_flat_ writes tensors, of the dtype of the flat tensor, into it one after another from its
// begin.
void copy_flat_(Tensor& flat, gsl::span<const Tensor> tensors);

// flattened returns a new flat tensor that holds tensors of one dtype.
Tensor flattened(gsl::span<const Tensor> tensors, DType dtype);

// as_bytes returns a contiguous tensor's bytes, as a flat view of uint8.
Tensor as_bytes(const Tensor& tensor);

}  // namespace simmesh
