#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// Ops that find which values occur, and how often.

// isin returns for each element whether it is among the others; bool. NaN never is. With invert it
// returns the opposite.
Tensor isin(const Tensor& elements, const Tensor& others, bool invert = false);

// bincount counts how often 0, 1, ... occur in a vector of integers, up to the largest and at least
// min_length of them: int64; with weights it adds up those, in float64 (float32 for float32
// weights). Its shape depends on the data, so a distributed tensor raises a RuntimeError; so do
// another number of dims, elements below zero, and weights of another size.
Tensor bincount(const Tensor& x, const Tensor& weights = {}, std::int64_t min_length = 0);

// The argument of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<bool> invert{"invert"};
}  // namespace attribute

}  // namespace simmesh
