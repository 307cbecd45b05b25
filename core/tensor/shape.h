#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <fmt/core.h>
#include <gsl/span>
#include <string>

#include "core/tensor/dims.h"

namespace simmesh {

using Shape = Dims;
using Strides = Dims;
using DimSpan = gsl::span<const std::int64_t>;

// NarrowRange is a part of a dim: length elements from start on.
struct NarrowRange {
  std::int64_t dim;
  std::int64_t start;
  std::int64_t length;
};

// dims_max bounds the number of dims of a tensor and of a mesh.
inline constexpr std::int64_t dims_max = 32;

// numel is the product of the sizes; 1 for a scalar. Raises a ValueError where a size is
// negative or the product does not fit into 63 bits.
std::int64_t numel(DimSpan shape);

// contiguous_strides returns the row-major strides, in elements, as PyTorch computes them: an empty
// dim counts as size one.
Strides contiguous_strides(DimSpan shape);

// next_index advances a row-major multi-index within shape; returns false after the last one.
bool next_index(Dims& index, DimSpan shape);

// to_string returns "[2, 3]".
std::string to_string(DimSpan dims);

}  // namespace simmesh

// A list of dims is formatted as to_string has it.
template <>
struct fmt::formatter<simmesh::Dims> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  // format writes what to_string returns.
  fmt::appender format(const simmesh::Dims& dims, fmt::format_context& context) const;
};
