#pragma once

#include <cstdint>
#include <optional>

#include "core/arithmetic/companions/exact_content.h"

namespace simmesh {

// Arithmetic of exact values; see ExactValues. None of the operands of these is a root, but where
// that is said.

// sum returns a + factor * b. A count of 1 is repeated; other counts that differ raise a
// ValueError.
ExactContent sum(const ExactContent& a, const ExactContent& b, double factor);

// product multiplies value by value, as counts allow.
ExactContent product(const ExactContent& a, const ExactContent& b);

// scaled and divided take roots too.
ExactContent scaled(const ExactContent& content, double factor);
ExactContent divided(const ExactContent& content, double divisor);

// common_divisor returns the least common multiple of two divisors; nullopt where it is too large.
std::optional<std::int64_t> common_divisor(std::int64_t a, std::int64_t b);

// over_divisor returns the values over a multiple of their divisor, which may be the divisor. An
// element's own -0 stays.
ExactContent over_divisor(const ExactContent& content, std::int64_t divisor);

}  // namespace simmesh
