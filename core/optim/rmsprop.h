#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// RmsPropOptions are PyTorch's.
struct RmsPropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;
  bool maximize = false;
};

// RmsProp divides by the root of a mean of squares: g += weight_decay * p; v = alpha v + (1 -
// alpha) g^2; with centered a = alpha a + (1 - alpha) g and v - a^2 in the place of v; d = g /
// (sqrt(v) + eps); with momentum b = momentum b + d in the place of d; p -= lr * d. maximize
// negates the gradient first. Computed in float32 (float64 for float64) and rounded once a tensor.
// Its state is square_avg, and grad_avg and momentum_buffer where they are needed.
class RmsProp final : public GroupedOptimizer<RmsPropOptions> {
 public:
  RmsProp(const std::vector<Tensor>& parameters, const RmsPropOptions& options = {})
      : RmsProp(std::vector<Group>{{parameters, options}}) {}
  explicit RmsProp(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t parameter) const override;

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
