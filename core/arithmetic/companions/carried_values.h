#pragma once

#include <cstdint>
#include <optional>

#include "core/arithmetic/companions/exact_record.h"
#include "core/arithmetic/companions/exact_values.h"
#include "core/memory/buffer.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// Exact values on their way through tensors of ours: there they are unrounded sums (see
// core/arithmetic/unrounded.h), which are moved with their elements, and which reductions add in
// exact arithmetic. Square roots are moved as such, and added as their elements.

// CarriedOperand are elements of a storage that go into a tensor.
struct CarriedOperand {
  ElementsOfStorage elements;
  const ExactRecord* record = nullptr;  // null where nothing stands behind the elements
  double factor = 1.0;                  // multiplies the values; 1.0 / N is the rational
};

// carry_in gives a tensor, a contiguous copy of floating elements, what stands behind these.
void carry_in(const CarriedOperand& operand, Tensor& copy);

// CarriedPart is a contiguous range of the elements of a buffer.
struct CarriedPart {
  Buffer& buffer;
  std::size_t offset = 0;
  DType dtype = DType::float32;
  std::int64_t count = 0;
};

// carried_values returns the values of a part's elements; nullopt where these are the elements
// themselves.
std::optional<ExactValues> carried_values(const CarriedPart& part);

}  // namespace simmesh
