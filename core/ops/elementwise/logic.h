#pragma once

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Logical operations take any dtype, where nonzero is true, and return bool.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

// Bitwise operations take integers and bools; others raise a NotImplementedError.
Tensor bitwise_and(const Tensor& a, const Tensor& b);
Tensor bitwise_and(const Tensor& a, Number b);
Tensor bitwise_or(const Tensor& a, const Tensor& b);
Tensor bitwise_or(const Tensor& a, Number b);
Tensor bitwise_xor(const Tensor& a, const Tensor& b);
Tensor bitwise_xor(const Tensor& a, Number b);
Tensor bitwise_not(const Tensor& x);

// Return which elements are NaN, infinite, or neither; bool.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);

}  // namespace simmesh
