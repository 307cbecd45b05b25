#include "core/ops/view_arguments.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/dim_list.h"

namespace simmesh {

Dims wrapped_order(DimSpan dims, std::size_t rank) {
  if (dims.size() != rank)
    raise(ErrorKind::runtime_error, "permute",
          "number of dimensions in the tensor input does not match the length "
          "of the desired ordering of dimensions i.e. input.dim() = {} is not equal to "
          "len(dims) = {}",
          rank, dims.size());
  wrapped_dims(dims, rank);
  Dims order;
  for (std::int64_t dim : dims) order.push_back(wrapped_dim(dim, rank));
  return order;
}

SliceRange slice_of(const Attributes& attributes, const Shape& shape) {
  SliceRange range = {.dim = attributes.get(attribute::dim),
                      .start = attributes.get(attribute::start),
                      .end = attributes.get(attribute::end),
                      .step = attributes.get(attribute::step)};
  if (shape.empty())
    raise(ErrorKind::runtime_error, "slice", "slice() cannot be applied to a 0-dim tensor.");
  range.dim = wrapped_dim(range.dim, shape.size());
  if (range.step < 1)
    raise(ErrorKind::runtime_error, "slice", "slice step must be positive, got {}", range.step);
  std::int64_t size = shape[std::size_t(range.dim)];
  auto cut = [size](std::int64_t bound) {
    return std::clamp<std::int64_t>(bound < 0 ? bound + size : bound, 0, size);
  };
  range.start = cut(range.start);
  range.end = std::max(cut(range.end), range.start);
  return range;
}

Attributes slice_attributes(const SliceRange& range) {
  return {attribute::dim = range.dim, attribute::start = range.start, attribute::end = range.end,
          attribute::step = range.step};
}

Diagonal diagonal_of(const Attributes& attributes) {
  return {.offset = attributes.get(attribute::offset),
          .dim0 = attributes.get(attribute::dim1),
          .dim1 = attributes.get(attribute::dim2)};
}

Attributes diagonal_attributes(const Diagonal& which) {
  return {attribute::offset = which.offset, attribute::dim1 = which.dim0,
          attribute::dim2 = which.dim1};
}

}  // namespace simmesh
