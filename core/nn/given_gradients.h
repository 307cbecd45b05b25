#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// GivenGradients holds parameters whose gradients are given: it computes x + the sum over the given
// gradients of sum(parameter * gradient). Backward from the sum of an output of one element gives
// each parameter just its gradient. Without given gradients it returns x.
class GivenGradients final : public Module {
 public:
  // Localize returns the part of a parameter that forward multiplies, recorded on the tape.
  using Localize = std::function<Tensor(const Tensor& parameter)>;

  GivenGradients(const std::vector<std::pair<std::string, Shape>>& parameters,
                 const ParameterOptions& options);
  Tensors forward(const Tensors& inputs) override;

  // give sets the gradients by name, of the shape that localize returns.
  void give(std::vector<NamedTensor> gradients) { gradients_ = std::move(gradients); }
  void set_localize(Localize localize) { localize_ = std::move(localize); }

 private:
  std::vector<NamedTensor> gradients_;
  Localize localize_;
};

}  // namespace simmesh::nn
