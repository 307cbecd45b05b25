#include "core/nn/given_gradients.h"

#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"

namespace simmesh::nn {

GivenGradients::GivenGradients(const std::vector<std::pair<std::string, Shape>>& parameters,
                               const ParameterOptions& options) {
  for (const auto& [name, shape] : parameters)
    register_parameter(name, new_parameter(shape, options));
}

Tensors GivenGradients::forward(const Tensors& inputs) {
  Tensor result = inputs.at(0);
  for (const auto& [name, gradient] : gradients_) {
    Tensor part = parameter(name);
    if (localize_) part = localize_(part);
    result = add(result, sum(mul(part, gradient)));
  }
  return {result};
}

}  // namespace simmesh::nn
