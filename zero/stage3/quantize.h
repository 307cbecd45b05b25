#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace simmesh::zero {

// Quantized is a tensor in few bits: elements are cut into groups of equal size, one after another,
// and each group has a float32 scale that its codes are multiplied by.
//
// Rounding is half to even; code and scale of a group follow from its largest magnitude m: with b
// bits a code is x * 2^(b-1) / m, clamped to -2^(b-1) .. 2^(b-1) - 1, so -m is exact and m is not.
// A group of zeros has the scale 1. Inputs are rounded to float16 first, as DeepSpeed's kernels do.
struct Quantized {
  Tensor codes;   // uint8: two's complement; of 4 bits two in a byte, the first in the low half
  Tensor scales;  // float32 [groups]
  std::int64_t bits = 8;

  std::int64_t numel() const { return codes.numel() * 8 / bits; }
};

// weight_group_count returns the number of groups for so many elements of weights: the smallest
// number from ceil(n / 8000) on for which groups have a multiple of 8 elements, doubled as long as
// groups have more than 8000 elements and can be halved. Raises a ValueError for a count that isn't
// a positive multiple of 8.
std::int64_t weight_group_count(std::int64_t elements);

// quantized returns a floating tensor in 8 or 4 bits. Raises a ValueError if the elements can't be
// divided into so many groups, or, for 4 bits, if a group has an odd number of them.
Quantized quantized(const Tensor& values, std::int64_t groups, std::int64_t bits);

// quantized_weights returns weights in 8 bits, in weight_group_count groups.
Quantized quantized_weights(const Tensor& values);

// dequantized returns codes times scales, flat: computed in float32, rounded to float16 and then to
// the dtype.
Tensor dequantized(const Quantized& values, DType dtype);

}  // namespace simmesh::zero
