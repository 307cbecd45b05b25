#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// LambOptions are those of DeepSpeed's FusedLamb.
struct LambOptions {
  double lr = 1e-3;
  bool bias_correction = true;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  bool eps_inside_sqrt = false;
  double weight_decay = 0.0;
  double max_coeff = 10.0;
  double min_coeff = 0.01;
};

// Lamb is Adam whose step is scaled by the norm of the parameter: m = b1 m + (1 - b1) g; v = b2 v +
// (1 - b2) g^2; u = m / (sqrt(v) + eps) + weight_decay * p, with eps_inside_sqrt m / sqrt(v + eps);
// p -= lr * sqrt(1 - b2^t) / (1 - b1^t) * c * u, without bias_correction lr * c * u. The trust
// ratio c is |p| / |u| within min_coeff and max_coeff, 1 where a norm is 0. So a step needs whole
// parameters. Computed in float32 (float64 for float64) and rounded once a tensor, the squares of
// the norms added up in float64. Its state is exp_avg and exp_avg_sq.
class Lamb final : public GroupedOptimizer<LambOptions> {
 public:
  Lamb(const std::vector<Tensor>& parameters, const LambOptions& options = {})
      : Lamb(std::vector<Group>{{parameters, options}}) {}
  explicit Lamb(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override {
    return {"exp_avg", "exp_avg_sq"};
  }
  bool needs_whole(std::size_t) const override { return true; }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
