#pragma once

#include "core/ops/op.h"

namespace simmesh {

// rotary_embedding turns x [..., T, E], E even, by its position: element i of row t and element i +
// E / 2 are the coordinates of a point that is turned by t * theta^(-2 i / E). The angles are
// computed in float64 and their sines and cosines rounded to the dtype of x, as Llama does. Raises
// a RuntimeError for an odd E.
//
// On a distributed tensor T and E must not be sharded.
Tensor rotary_embedding(const Tensor& x, double theta = 10000.0);

// With positions, a vector of T numbers, row t is rotated by its own position: for a rank that
// holds some rows of a sequence. Raises a RuntimeError for another number of them.
Tensor rotary_embedding(const Tensor& x, const Tensor& positions, double theta = 10000.0);

// rotary_embedding_backward rotates a gradient back by what the op with these arguments rotated.
// positions are undefined where the op got none.
Tensor rotary_embedding_backward(const Tensor& gradient, const Tensor& positions,
                                 Attributes attributes);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<double> theta{"theta"};
inline constexpr Attribute<bool> is_inverse{"is_inverse"};
}  // namespace attribute

}  // namespace simmesh
