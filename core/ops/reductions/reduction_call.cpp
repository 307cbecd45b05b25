#include "core/ops/reductions/reduction_call.h"

#include "core/check/error.h"
#include "core/ops/reductions/folded.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

Attributes reduction_attributes(const DimList& dims, bool keepdim, std::optional<DType> dtype) {
  Attributes attributes;
  if (!dims.dims().empty()) attributes.set("dims", dims.dims());
  if (keepdim) attributes.set("keepdim", true);
  if (dtype) attributes.set("dtype", *dtype);
  return attributes;
}

Dims reduced_dims(const Attributes& attributes, std::size_t rank) {
  return wrapped_dims(attributes.get_or("dims", Dims()), rank);
}

TensorType reduced_type(const TensorType& x, const Attributes& attributes, DType dtype) {
  Dims dims = reduced_dims(attributes, x.shape.size());
  return {reduced_shape(x.shape, dims, attributes.get_or("keepdim", false)), dtype};
}

void check_floating_input(std::string_view op, DType dtype) {
  if (!is_floating_point(dtype))
    raise(ErrorKind::runtime_error, op,
          "{}(): could not infer output dtype. Input dtype must be a floating point dtype. Got: {}",
          op, to_string(dtype));
}

Tensor kept(const GradientCall& call, const Tensor& result) {
  if (call.attributes().get_or("keepdim", false)) return result;
  const Shape& shape = call.input_type(0).shape;
  return reshape(result, reduced_shape(shape, reduced_dims(call.attributes(), shape.size()), true));
}

Tensor spread(const GradientCall& call, const Tensor& result) {
  return expand(kept(call, result), call.input_type(0).shape);
}

}  // namespace simmesh
