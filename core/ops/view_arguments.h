#pragma once

#include <cstdint>
#include <limits>

#include "core/ops/attributes.h"

namespace simmesh {

// Names of the arguments of view ops, for their view rules and for their gradients.

// SliceRange is start:end:step of Python along a dim: negative bounds count from the end, bounds
// beyond it are cut.
struct SliceRange {
  std::int64_t dim = 0;
  std::int64_t start = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::int64_t step = 1;
};
// slice_attributes returns a range as an op's arguments. slice_of reads it from them; its bounds
// count from the begin of a tensor of that shape and are cut to it. Raises a RuntimeError for a
// scalar and for a step below 1.
Attributes slice_attributes(const SliceRange& range);
SliceRange slice_of(const Attributes& attributes, const Shape& shape);

// Diagonal is a diagonal of two dims; an offset above zero means above the main one.
struct Diagonal {
  std::int64_t offset = 0;
  std::int64_t dim0 = 0;
  std::int64_t dim1 = 1;
};
// diagonal_attributes returns a diagonal as an op's arguments, in which PyTorch numbers the dims
// from one; diagonal_of reads it from there.
Attributes diagonal_attributes(const Diagonal& which);
Diagonal diagonal_of(const Attributes& attributes);

// wrapped_order returns an order of that many dims, each of which may count from the end, as dims
// from 0 on. Raises a RuntimeError where it isn't a permutation.
Dims wrapped_order(DimSpan dims, std::size_t rank);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<std::int64_t> start{"start"};
inline constexpr Attribute<std::int64_t> end{"end"};
inline constexpr Attribute<std::int64_t> offset{"offset"};
inline constexpr Attribute<std::int64_t> dim1{"dim1"};
inline constexpr Attribute<std::int64_t> dim2{"dim2"};
}  // namespace attribute

}  // namespace simmesh
