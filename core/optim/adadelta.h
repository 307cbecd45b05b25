#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// AdadeltaOptions are PyTorch's.
struct AdadeltaOptions {
  double lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0.0;
  bool maximize = false;
};

// Adadelta scales a gradient by the roots of two means of squares, of updates and of gradients:
// - g += weight_decay * p; v = rho v + (1 - rho) g^2;
// - d = sqrt(u + eps) / sqrt(v + eps) * g; u = rho u + (1 - rho) d^2; p -= lr * d.
// maximize negates the gradient first. Computed in float32 (float64 for float64) and rounded once a
// tensor. Its state is acc_delta and square_avg.
class Adadelta final : public GroupedOptimizer<AdadeltaOptions> {
 public:
  Adadelta(const std::vector<Tensor>& parameters, const AdadeltaOptions& options = {})
      : Adadelta(std::vector<Group>{{parameters, options}}) {}
  explicit Adadelta(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override {
    return {"acc_delta", "square_avg"};
  }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
