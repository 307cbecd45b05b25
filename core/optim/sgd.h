#pragma once

#include <gsl/span>

#include "core/optim/momenta.h"
#include "core/optim/optimizer.h"

namespace simmesh::optim {

// SgdOptions are PyTorch's.
struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  bool maximize = false;  // follows the gradient upwards
};

// SgdTensors is one parameter with its gradient and its momentum buffer, which is only used with
// momentum; contiguous, of one shape and dtype. Without momentum the gradient may be wider.
struct SgdTensors {
  Tensor parameter;
  Tensor gradient;
  Tensor momentum_buffer;
  bool is_first = false;  // the buffer holds nothing yet
};

// sgd_ makes one step of all parameters of a list: maximize negates g; g += weight_decay * p; with
// momentum b = g at first, else b = momentum * b + (1 - dampening) * g, and g = nesterov ? g +
// momentum * b : b; then p -= lr * g. Computed in float32 (float64 for float64) and rounded once a
// tensor.
void sgd_(gsl::span<SgdTensors> list, const SgdOptions& options);

// Sgd is stochastic gradient descent. Without momentum a gradient may have another dtype than
// its parameter: the step is computed in the wider one. With momentum it is a ValueError.
class Sgd final : public Optimizer, public Momenta {
 public:
  // Group is parameters with options of their own.
  struct Group {
    std::vector<Tensor> parameters;
    SgdOptions options;
  };

  // Raises a ValueError for nesterov without momentum or with dampening.
  Sgd(const std::vector<Tensor>& parameters, const SgdOptions& options)
      : Sgd(std::vector<Group>{{parameters, options}}) {}
  explicit Sgd(std::vector<Group> groups);

  void step() override;
  std::vector<std::string> state_names(std::size_t parameter) const override;
  std::vector<double> learning_rates() const override;
  void set_learning_rates(const std::vector<double>& rates) override;
  void set_momenta(const std::vector<double>& momenta) override;

 private:
  std::vector<Group> groups_;
};

}  // namespace simmesh::optim
