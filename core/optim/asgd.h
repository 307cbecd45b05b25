#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// AsgdOptions are PyTorch's.
struct AsgdOptions {
  double lr = 1e-2;
  double lambd = 1e-4;
  double alpha = 0.75;
  double t0 = 1e6;
  double weight_decay = 0.0;
  bool maximize = false;
};

// Asgd is SGD with a falling rate that also keeps the average of the parameters. Step t, from 1:
// - g += weight_decay * p; p = p (1 - lambd * eta) - eta * g; eta is lr in the first step;
// - then eta = lr / (1 + lambd * lr * t)^alpha for the next step;
// - the average ax is p itself up to step t0 + 1; later ax += (p - ax) / (t - 1 - t0).
// maximize negates the gradient first. Computed in float32 (float64 for float64) and rounded once a
// tensor. Its state is ax, and eta and mu, one float32 each.
class Asgd final : public GroupedOptimizer<AsgdOptions> {
 public:
  Asgd(const std::vector<Tensor>& parameters, const AsgdOptions& options = {})
      : Asgd(std::vector<Group>{{parameters, options}}) {}
  explicit Asgd(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override { return {"ax", "eta", "mu"}; }
  Tensor new_state(std::size_t parameter, const std::string& name) const override;

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
