#pragma once

#include <optional>

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Elementwise choices between operands, which are broadcast and promoted; shapes that don't
// broadcast raise a RuntimeError.

// maximum and minimum pass NaN on; equal operands share the gradient. fmax and fmin prefer the
// operand that is no NaN.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor fmax(const Tensor& a, const Tensor& b);
Tensor fmin(const Tensor& a, const Tensor& b);

// where returns a where the bool condition is true, else b. Raises a RuntimeError for a condition
// of another dtype (uint8 excepted).
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Number b);
Tensor where(const Tensor& condition, Number a, const Tensor& b);
Tensor where(const Tensor& condition, Number a, Number b);

// clamp keeps x within [min, max], of which at least one is given; max where min is larger. NaN
// stays.
Tensor clamp(const Tensor& x, std::optional<Number> min, std::optional<Number> max = {});
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max);
Tensor clamp_min(const Tensor& x, Number min);
Tensor clamp_min(const Tensor& x, const Tensor& min);
Tensor clamp_max(const Tensor& x, Number max);
Tensor clamp_max(const Tensor& x, const Tensor& max);

// masked_fill returns x with the value where the bool mask, broadcast to x, is true. The result has
// the dtype of x. Raises a RuntimeError for a mask of another dtype and for a value tensor with
// dims.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value);
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);

// copysign returns the magnitude of a with the sign of b, floating.
Tensor copysign(const Tensor& a, const Tensor& b);

// nan_to_num replaces NaN, and the infinities by the numbers given, else by the largest finite ones
// of the dtype.
struct NanToNum {
  double nan = 0.0;
  std::optional<double> positive_infinity;
  std::optional<double> negative_infinity;
};
// largest_finite returns the largest finite number of a floating dtype.
double largest_finite(DType dtype);
Tensor nan_to_num(const Tensor& x, const NanToNum& options = {});

// clamp_ and masked_fill_ do so in place.
Tensor& clamp_(Tensor& self, std::optional<Number> min, std::optional<Number> max = {});
Tensor& masked_fill_(Tensor& self, const Tensor& mask, Number value);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Number> nan{"nan"};
inline constexpr Attribute<Number> posinf{"posinf"};
inline constexpr Attribute<Number> neginf{"neginf"};
}  // namespace attribute

}  // namespace simmesh
