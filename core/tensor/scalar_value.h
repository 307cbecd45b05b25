#pragma once

#include <optional>
#include <string_view>

#include "core/tensor/known_tensor.h"

namespace simmesh {

// scalar_value returns the one element of a tensor as a double, exactly for floating dtypes. It is
// known to all processes over which a run is spread.
double scalar_value(const Tensor& scalar);

// known_scalar returns the one element of a tensor as a double, known to all processes over which a
// run is spread; none for a tensor without elements. `name` is that of known_tensor.
std::optional<double> known_scalar(const Tensor& scalar, std::string_view name);

// scalar_value_or returns another value for a tensor without elements, after the same launches. The
// program doesn't go on by it: a ghost's tensor has no elements either.
double scalar_value_or(const Tensor& scalar, double otherwise);

}  // namespace simmesh
