#include "core/gradients/source_gradient.h"

#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/rearranging.h"

namespace simmesh {

Tensor padded_source(const GradientCall& call, const Tensor& elements) {
  const Shape& shape = call.input_type(2).shape;
  if (elements.shape() == shape) return elements;
  Dims pads;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    pads.push_back(0);
    pads.push_back(shape[dim] - elements.shape()[dim]);
  }
  return pad(elements, pads);
}

Tensor source_gradient(const GradientCall& call, const Tensor& gradient) {
  auto dim = call.attributes().get(attribute::dim);
  return padded_source(call, gather(gradient, dim, call.input(1)));
}

}  // namespace simmesh
