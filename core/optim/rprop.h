#pragma once

#include "core/optim/grouped_optimizer.h"

namespace simmesh::optim {

// RpropOptions are PyTorch's.
struct RpropOptions {
  double lr = 1e-2;  // the size of a first step
  double eta_minus = 0.5;
  double eta_plus = 1.2;
  double step_min = 1e-6;
  double step_max = 50.0;
  bool maximize = false;
};

// Rprop steps by the sign of the gradient alone. The size of a step is multiplied by eta_plus where
// the gradient has the sign of the last one, and by eta_minus where it has the other; there the
// parameter stays, and its gradient counts as 0 in the next step. Sizes stay within step_min and
// step_max. maximize negates the gradient first. Computed in float32 (float64 for float64) and
// rounded once a tensor. Its state is prev and step_size.
class Rprop final : public GroupedOptimizer<RpropOptions> {
 public:
  Rprop(const std::vector<Tensor>& parameters, const RpropOptions& options = {})
      : Rprop(std::vector<Group>{{parameters, options}}) {}
  explicit Rprop(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t) const override { return {"prev", "step_size"}; }
  Tensor new_state(std::size_t parameter, const std::string& name) const override;

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
