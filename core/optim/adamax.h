#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// AdamaxOptions are PyTorch's.
struct AdamaxOptions {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool maximize = false;
};

// Adamax is Adam with the largest of decayed magnitudes in the place of the second moment: g +=
// weight_decay * p; m = b1 m + (1 - b1) g; u = max(b2 u, |g| + eps); p -= lr / (1 - b1^t) * m / u.
// maximize negates the gradient first. Computed in float32 (float64 for float64) and rounded once a
// tensor. Its state is exp_avg and exp_inf.
class Adamax final : public GroupedOptimizer<AdamaxOptions> {
 public:
  Adamax(const std::vector<Tensor>& parameters, const AdamaxOptions& options = {})
      : Adamax(std::vector<Group>{{parameters, options}}) {}
  explicit Adamax(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override {
    return {"exp_avg", "exp_inf"};
  }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
