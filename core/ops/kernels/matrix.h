#pragma once

#include "core/arithmetic/products/product_request.h"
#include "core/ops/kernels/scales.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// Kernels of matrix products on plain tensors, a[..., n, k] and b[..., k, m] of any strides, with
// the same leading dim or none, into contiguous rows of out[..., n, m].

// rows_of makes a matrix of all dims but the last.
Tensor rows_of(const Tensor& x);

// product_operand returns a matrix, or the first one of a batch, as the operand of a product.
ProductOperand product_operand(const Tensor& matrices);

// multiply writes a b, in the current arithmetic.
void multiply(const Tensor& a, const Tensor& b, Tensor& out);

// Addend is the term added to a product: a tensor that broadcasts to the result, and the factors.
struct Addend {
  Tensor value;
  Scales scales;
  // True if sums start from beta * addend, to which the terms (alpha * a) b are added one by one.
  // Otherwise the whole alpha * a b is added to it.
  bool starts_sums = false;
};
// multiply_and_add writes beta * addend + alpha * a b. For 16-bit dtypes the sums are float32, so
// that they are rounded once. In exact arithmetic only the result is rounded, so the order of the
// addend doesn't matter.
void multiply_and_add(const Tensor& a, const Tensor& b, const Addend& addend, Tensor& out);

}  // namespace simmesh
