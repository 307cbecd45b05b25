#pragma once

#include <optional>

#include "core/optim/adam.h"
#include "core/optim/grouped_optimizer.h"
#include "core/optim/newton_schulz.h"

namespace simmesh::optim {

// MuonOptions are those of DeepSpeed's MuonWithAuxAdam.
struct MuonOptions {
  double lr = 0.02;
  double beta = 0.95;  // the momentum
  double weight_decay = 0.0;
  NewtonSchulz ns_method = NewtonSchulz::gram;
  std::optional<DType> ns_dtype = {};  // by default that of the method
  // If set, the group is one of Adam instead, with these options but lr and weight_decay.
  std::optional<AdamOptions> adam = {};
  WeightDecay adam_decay = WeightDecay::decoupled;
};

// Muon steps matrices by orthogonalised momentum: m = beta m + (1 - beta) g; u = (1 - beta) g +
// beta m, orthogonalised, times sqrt(max(1, rows / columns)); p = p (1 - lr * weight_decay) - lr *
// u. A tensor of four dims counts as the matrix of its first dim, but for rows and columns; of
// three, as a list of matrices. A gradient that isn't finite leaves m alone. Such a step needs
// whole parameters of at least two dims, else it is a ValueError. Groups with adam are stepped by
// adam_. Its state is momentum_buffer, or exp_avg and exp_avg_sq.
class Muon final : public GroupedOptimizer<MuonOptions> {
 public:
  Muon(const std::vector<Tensor>& parameters, const MuonOptions& options = {})
      : Muon(std::vector<Group>{{parameters, options}}) {}
  explicit Muon(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t parameter) const override;
  bool needs_whole(std::size_t parameter) const override {
    return !options_of(parameter).adam.has_value();
  }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
  void update_by_adam(std::size_t index, const Tensor& parameter, const Tensor& gradient);
  Tensor direction(std::size_t index, const Tensor& gradient);
};

}  // namespace simmesh::optim
