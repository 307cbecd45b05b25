#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// LionOptions are those of DeepSpeed's FusedLion.
struct LionOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double weight_decay = 0.0;
};

// Lion goes by the sign of a momentum: p = p * (1 - lr * weight_decay) - lr * sign(b1 m + (1 - b1)
// g); then m = b2 m + (1 - b2) g. Where the sum is 0 the parameter stays. Computed in float32
// (float64 for float64) and rounded once a tensor. Its state is exp_avg.
class Lion final : public GroupedOptimizer<LionOptions> {
 public:
  Lion(const std::vector<Tensor>& parameters, const LionOptions& options = {})
      : Lion(std::vector<Group>{{parameters, options}}) {}
  explicit Lion(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override { return {"exp_avg"}; }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
