#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// NAdamOptions are PyTorch's.
struct NAdamOptions {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};

// NAdam is Adam with Nesterov's momentum. With mu_t = b1 (1 - 0.96^(t momentum_decay) / 2) and
// their product M_t:
// - g += weight_decay * p, or decoupled p *= 1 - lr * weight_decay;
// - m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; d = sqrt(v / (1 - b2^t)) + eps;
// - p -= lr (1 - mu_t) / (1 - M_t) * g / d; p -= lr mu_(t+1) / (1 - M_t mu_(t+1)) * m / d.
// maximize negates the gradient first. Computed in float32 (float64 for float64) and rounded once a
// tensor. Its state is exp_avg, exp_avg_sq, and one float32 mu_product.
class NAdam final : public GroupedOptimizer<NAdamOptions> {
 public:
  NAdam(const std::vector<Tensor>& parameters, const NAdamOptions& options = {})
      : NAdam(std::vector<Group>{{parameters, options}}) {}
  explicit NAdam(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override {
    return {"exp_avg", "exp_avg_sq", "mu_product"};
  }
  Tensor new_state(std::size_t parameter, const std::string& name) const override;

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
