#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/gradient_call.h"
#include "core/ops/kernels/places.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// The gradients of a cat's inputs are the parts of its gradient.
Gradients cat_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  std::int64_t dim = indexed_dim(call.attributes(), call.output_type().shape), start = 0;
  Tensor g = call.gradient();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const TensorType& type = call.input_type(i);
    // A vector without elements was left out, whatever the shape of the others.
    bool left_out = type.shape == Shape{0};
    std::int64_t length = left_out ? 0 : type.shape[std::size_t(dim)];
    if (call.needs(i) && left_out)
      gradients[i] = zeros(type.shape, type.dtype);
    else if (call.needs(i))
      gradients[i] = to(narrow(g, {.dim = dim, .start = start, .length = length}), type.dtype);
    start += length;
  }
  return gradients;
}

Gradients stack_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  Tensor g = call.gradient();
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (call.needs(i))
      gradients[i] = to(select(g, call.attributes().get(attribute::dim), std::int64_t(i)),
                        call.input_type(i).dtype);
  return gradients;
}

}  // namespace

void joining_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"cat", {cat_gradient}},
      {"stack", {stack_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
