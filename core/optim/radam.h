#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// RAdamOptions are PyTorch's.
struct RAdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

// RAdam is Adam whose second moment counts only once its variance is small enough. With
// r = 2 / (1 - b2) - 1 and r_t = r - 2 t b2^t / (1 - b2^t):
// - g += weight_decay * p, or decoupled p *= 1 - lr * weight_decay;
// - m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; u = m / (1 - b1^t);
// - where r_t > 5, u *= sqrt(1 - b2^t) / (sqrt(v) + eps), and
// - u *= sqrt((r_t - 4) (r_t - 2) r / ((r - 4) (r - 2) r_t));
// - p -= lr * u.
// maximize negates the gradient first. Computed in float32 (float64 for float64) and rounded once a
// tensor. Its state is exp_avg and exp_avg_sq.
class RAdam final : public GroupedOptimizer<RAdamOptions> {
 public:
  RAdam(const std::vector<Tensor>& parameters, const RAdamOptions& options = {})
      : RAdam(std::vector<Group>{{parameters, options}}) {}
  explicit RAdam(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override {
    return {"exp_avg", "exp_avg_sq"};
  }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
