#pragma once

#include <optional>

#include "core/ops/dim_list.h"
#include "core/ops/op.h"

namespace simmesh {

// Names of the arguments of reductions: "dims" (absent: all), "keepdim" and "dtype" (absent: that
// of the op).
Attributes reduction_attributes(const DimList& dims, bool keepdim, std::optional<DType> dtype = {});

// reduced_dims returns the dims of a reduction of a tensor with that many dims, ascending.
Dims reduced_dims(const Attributes& attributes, std::size_t rank);

// reduced_count returns how many elements of a tensor of that shape are reduced to one result.
std::int64_t reduced_count(const Shape& shape, const Attributes& attributes);

// reduced_type returns the type of a reduction's result.
TensorType reduced_type(const TensorType& x, const Attributes& attributes, DType dtype);

// check_floating_input raises a RuntimeError for an op of floating tensors only.
void check_floating_input(std::string_view op, DType dtype);

}  // namespace simmesh
