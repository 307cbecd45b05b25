#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/optim/adam.h"
#include "core/optim/grouped_optimizer.h"
#include "core/optim/matrix/orthogonal.h"

namespace simmesh::optim {

// MuonRate says how the learning rate of a matrix of R rows and C columns is scaled: original by
// sqrt(max(1, R / C)), match_rms_adamw by 0.2 sqrt(max(R, C)), spectral_unclamped by sqrt(R / C).
enum class MuonRate : std::uint8_t { original, match_rms_adamw, spectral_unclamped };

// muon_rate_from_string reads such a name. Raises a ValueError for another one.
MuonRate muon_rate_from_string(std::string_view name);

// TorchMuonOptions are those of torch.optim.Muon.
struct TorchMuonOptions {
  double lr = 1e-3;
  double weight_decay = 0.1;
  double momentum = 0.95;
  bool nesterov = true;
  QuinticIteration iteration = {};
  MuonRate adjust_lr = MuonRate::original;
  bool foreach = false;  // of the functional form, which refuses it
  // If set, the group is one of Adam, as programs have beside Muon for what is no matrix: with
  // these options but lr and weight_decay.
  std::optional<AdamOptions> adam = {};
  WeightDecay adam_decay = WeightDecay::decoupled;
};

// MuonInput is what Muon must know of a parameter and its gradient. simmesh has neither complex nor
// sparse tensors; those of other systems may be either.
struct MuonInput {
  std::int64_t dims = 2;  // of the gradient
  bool is_complex = false;
  bool is_sparse = false;  // the gradient
};

// require_muon_input raises what a step of torch.optim.Muon raises: a RuntimeError for complex and
// sparse tensors, a ValueError for a gradient that isn't a matrix.
void require_muon_input(const MuonInput& input);

// muon_lr returns a learning rate that is given as a tensor. Raises a ValueError unless it has just
// one element.
double muon_lr(const Tensor& lr);

// muon_direction makes the step of a momentum buffer, which is changed, and returns the direction
// in bfloat16: b = lerp(b, g, 1 - momentum); lerp(g, b, momentum) with nesterov, else b;
// orthogonalised.
Tensor muon_direction(Tensor& buffer, const Tensor& gradient, const TorchMuonOptions& options);

// TorchMuon is Muon as PyTorch 2.15 has it; DeepSpeed's is the class Muon. A step is the direction
// of the momentum; then p = p (1 - lr weight_decay), and p = p - lr * rate * direction in one
// rounding, where a parameter of 16 bits has the roundings of PyTorch's kernels on x86. Its state
// is momentum_buffer, in the gradient's dtype. Groups with adam are stepped by adam_.
//
// Matrices that are cut over a mesh are stepped by OwnedSteps or DistributedMuon of sharding/optim.
//
// The constructor raises a ValueError for parameters that aren't matrices and for negative lr,
// momentum and weight decay. A step raises as orthogonalized_by_quintic and require_muon_input do,
// and a ZeroDivisionError for a matrix without columns whose rate is R / C.
class TorchMuon : public GroupedOptimizer<TorchMuonOptions> {
 public:
  // Parameters of the constructor: whole ones, or flat pieces of matrices, which step_whole steps.
  enum class Parts : std::uint8_t { whole, flat_pieces };

  TorchMuon(const std::vector<Tensor>& parameters, const TorchMuonOptions& options = {})
      : TorchMuon(std::vector<Group>{{parameters, options}}) {}
  explicit TorchMuon(const std::vector<Group>& groups, Parts parts = Parts::whole);

  // add_param_group adds parameters. As in PyTorch their shapes are only looked at by a step.
  void add_param_group(Group group);

  std::vector<std::string> state_names(std::size_t parameter) const override;
  bool needs_whole(std::size_t parameter) const override {
    return !options_of(parameter).adam.has_value();
  }

 protected:
  // require_step raises what a step with this gradient raises.
  void require_step(std::size_t index, const Tensor& gradient) const;
  // move_along makes the last part of a step: the decay of a parameter, then its move along a
  // direction in its dtype. Both may be pieces of a matrix of that shape.
  void move_along(std::size_t index, Tensor parameter, Tensor direction, const Shape& matrix) const;

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
};

}  // namespace simmesh::optim
