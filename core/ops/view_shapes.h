#pragma once

#include <cstdint>
#include <string_view>

#include "core/ops/op.h"

namespace simmesh {

// shape_of_sizes returns a shape with the one size of -1, if any, set so that it has that many
// elements. Raises a RuntimeError where there is no such size.
Shape shape_of_sizes(DimSpan sizes, std::int64_t elements, std::string_view where);

// view_strides sets the strides under which a tensor's elements have the same order in a new shape
// of as many elements. False where there are none.
bool view_strides(const Tensor& x, DimSpan shape, Strides& strides);

// repeated_shape returns the shape of a repetition with two dims for each dim: its repeats, and its
// size. Where there are more repeats than dims, the first of them have the size one.
Shape repeated_shape(DimSpan repeats, DimSpan shape);

}  // namespace simmesh
