#include "core/ops/kernels/reduction_call.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/kernels/folded.h"

namespace simmesh {

Attributes reduction_attributes(const DimList& dims, bool keepdim, std::optional<DType> dtype) {
  Attributes attributes;
  if (!dims.dims().empty()) attributes.set(attribute::dims = dims.dims());
  if (keepdim) attributes.set(attribute::keepdim = true);
  if (dtype) attributes.set(attribute::dtype = *dtype);
  return attributes;
}

Dims reduced_dims(const Attributes& attributes, std::size_t rank) {
  return wrapped_dims(attributes.get_or(attribute::dims, Dims()), rank);
}

std::int64_t reduced_count(const Shape& shape, const Attributes& attributes) {
  std::int64_t count = 1;
  for (std::int64_t dim : reduced_dims(attributes, shape.size())) count *= shape[std::size_t(dim)];
  return count;
}

TensorType reduced_type(const TensorType& x, const Attributes& attributes, DType dtype) {
  Dims dims = reduced_dims(attributes, x.shape.size());
  return {reduced_shape(x.shape, dims, attributes.get_or(attribute::keepdim, false)), dtype};
}

void check_floating_input(std::string_view op, DType dtype) {
  if (!is_floating_point(dtype))
    raise(ErrorKind::runtime_error, op,
          "{}(): could not infer output dtype. Input dtype must be a floating point dtype. Got: {}",
          op, to_string(dtype));
}

}  // namespace simmesh
