#include "core/gradients/selected_elements.h"

#include "core/ops/attribute_names.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

Gradient selected_elements() {
  auto rule = [](const GradientCall& call) -> Gradients {
    if (!call.has_gradient(0)) return {Tensor()};
    Tensor g = call.gradient(0);
    return {scatter_add(new_zeros(g, call.input_type(0).shape),
                        call.attributes().get(attribute::dim), call.output(1), g)};
  };
  return {rule, {.outputs = 0b10}};
}

}  // namespace simmesh
