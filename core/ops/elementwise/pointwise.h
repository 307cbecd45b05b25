#pragma once

#include <cstdint>

#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/elementwise/trigonometry.h"
#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Elementwise arithmetic. Operands are broadcast and converted to their common dtype (see
// result_type); integers wrap. Shapes that don't broadcast raise a RuntimeError.

// add returns a + alpha * b. Raises a RuntimeError for a floating alpha of integers. sub likewise,
// and for bools; rsub returns b - alpha * a.
Tensor add(const Tensor& a, const Tensor& b, Number alpha = 1);
Tensor add(const Tensor& a, Number b, Number alpha = 1);
Tensor sub(const Tensor& a, const Tensor& b, Number alpha = 1);
Tensor sub(const Tensor& a, Number b, Number alpha = 1);
Tensor rsub(const Tensor& a, const Tensor& b, Number alpha = 1);
Tensor rsub(const Tensor& a, Number b, Number alpha = 1);

// mul returns a * b.
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, Number b);

// RoundingMode is the rounding of a quotient by div. floor and trunc keep integers integers, and
// raise a RuntimeError for an integer division by zero.
enum class RoundingMode : std::uint8_t { none, trunc, floor };

// div returns a / b, float32 for integers.
Tensor div(const Tensor& a, const Tensor& b, RoundingMode rounding = RoundingMode::none);
Tensor div(const Tensor& a, Number b, RoundingMode rounding = RoundingMode::none);

// remainder has the sign of the divisor, as Python's %; fmod has that of the dividend, as C's.
// Integer division by zero raises a RuntimeError.
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, Number b);
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, Number b);

// pow returns base to the power of exponent. Raises a RuntimeError for integers with a negative
// exponent.
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor pow(const Tensor& base, Number exponent);
Tensor pow(Number base, const Tensor& exponent);

// neg raises a RuntimeError for bool. sign is -1, 0 or 1 (NaN for NaN), as is sgn for real numbers.
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor sgn(const Tensor& x);
Tensor square(const Tensor& x);
// reciprocal returns 1 / x, float32 for integers.
Tensor reciprocal(const Tensor& x);

// The in-place forms write the result into self (see call_in_place).
Tensor& add_(Tensor& self, const Tensor& other, Number alpha = 1);
Tensor& add_(Tensor& self, Number other, Number alpha = 1);
Tensor& sub_(Tensor& self, const Tensor& other, Number alpha = 1);
Tensor& sub_(Tensor& self, Number other, Number alpha = 1);
Tensor& mul_(Tensor& self, const Tensor& other);
Tensor& mul_(Tensor& self, Number other);
Tensor& div_(Tensor& self, const Tensor& other, RoundingMode rounding = RoundingMode::none);
Tensor& div_(Tensor& self, Number other, RoundingMode rounding = RoundingMode::none);
Tensor& neg_(Tensor& self);

// The out forms write into a tensor of the result's shape and dtype, unrecorded (see call_into).
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, Number alpha = 1);
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b);

// The operators are add, sub, mul, div and neg.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, Number b) { return add(a, b); }
inline Tensor operator+(Number a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, Number b) { return sub(a, b); }
inline Tensor operator-(Number a, const Tensor& b) { return rsub(b, a); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, Number b) { return mul(a, b); }
inline Tensor operator*(Number a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, Number b) { return div(a, b); }
inline Tensor operator/(Number a, const Tensor& b) { return mul(reciprocal(b), a); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Number> exponent{"exponent"};
inline constexpr Attribute<std::string> rounding_mode{"rounding_mode"};
}  // namespace attribute

}  // namespace simmesh
