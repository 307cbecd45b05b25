#include "core/ops/kernels/scatter_call.h"

#include "core/check/error.h"
#include "core/ops/kernels/places.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

TensorTypes scatter_types(gsl::span<const TensorType> inputs, const Attributes& attributes,
                          std::string_view where) {
  std::int64_t dim = indexed_dim(attributes, inputs[0].shape);
  check_gather({.x = inputs[0], .index = inputs[1], .dim = dim}, where);
  if (inputs.size() == 2) return {inputs[0]};
  if (inputs[2].dtype != inputs[0].dtype)
    raise(ErrorKind::runtime_error, where,
          "Expected self.dtype to be equal to src.dtype, got {} and {}", to_string(inputs[0].dtype),
          to_string(inputs[2].dtype));
  Shape by = with_dims(inputs[1].shape), from = with_dims(inputs[2].shape);
  bool fits = by.size() == from.size();
  for (std::size_t d = 0; fits && d < by.size(); ++d) fits = by[d] <= from[d];
  if (!fits && numel(by) != 0)
    raise(ErrorKind::runtime_error, where,
          "expected an index that fits the source, got the shapes {} and {}",
          to_string(DimSpan(inputs[1].shape)), to_string(DimSpan(inputs[2].shape)));
  return {inputs[0]};
}

Tensor source_within(const Tensor& source, const Shape& index) {
  Tensor result = source;
  for (std::int64_t dim = 0; dim < result.dim(); ++dim)
    if (result.size(dim) != index[std::size_t(dim)])
      result = narrow(result, {.dim = dim, .start = 0, .length = index[std::size_t(dim)]});
  return contiguous(result);
}

}  // namespace simmesh
