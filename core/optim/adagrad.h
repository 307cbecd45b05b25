#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// AdagradOptions are PyTorch's.
struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0.0;
  double weight_decay = 0.0;
  double initial_accumulator_value = 0.0;
  double eps = 1e-10;
  bool maximize = false;
};

// Adagrad divides by the root of all squares so far: g += weight_decay * p; s += g^2; p -= lr / (1
// + (t - 1) * lr_decay) * g / (sqrt(s) + eps). maximize negates the gradient first. Computed in
// float32 (float64 for float64) and rounded once a tensor. Its state is sum.
class Adagrad final : public GroupedOptimizer<AdagradOptions> {
 public:
  Adagrad(const std::vector<Tensor>& parameters, const AdagradOptions& options = {})
      : Adagrad(std::vector<Group>{{parameters, options}}) {}
  explicit Adagrad(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override { return {"sum"}; }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
