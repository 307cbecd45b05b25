#pragma once

#include <string_view>

#include "core/ops/op.h"

namespace simmesh {

// Shared parts of the ops that write a source [i][j] at [i][index[i][j]] along "dim". Their inputs
// are x, index and source, which is absent where they write a value.

// scatter_types returns the type of x. Raises a RuntimeError where index and source don't fit, or
// the source has another dtype.
TensorTypes scatter_types(gsl::span<const TensorType> inputs, const Attributes& attributes,
                          std::string_view where);

// source_within returns the elements of a source for which an index of that shape has a place.
Tensor source_within(const Tensor& source, const Shape& index);

}  // namespace simmesh
