#pragma once

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Elementwise sums with a product, as optimisers use them. Operands are broadcast and promoted;
// shapes that don't broadcast raise a RuntimeError.

// lerp returns start + weight * (end - start); addcmul x + value * a * b; addcdiv x + value * a /
// b. lerp computes from the end for weights of 1/2 and more. Of integers lerp raises a
// NotImplementedError, and addcdiv a RuntimeError.
Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight);
Tensor lerp(const Tensor& start, const Tensor& end, Number weight);
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);

// addcmul_ adds in place.
Tensor& addcmul_(Tensor& self, const Tensor& a, const Tensor& b, Number value = 1);

// The argument of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Number> weight{"weight"};
}  // namespace attribute

}  // namespace simmesh
