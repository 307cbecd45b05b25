#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh::optim {

// Optimizer changes parameters by their gradients, and keeps state for each. Parameters without a
// gradient are left alone. State is made at a parameter's first step, as in PyTorch; for a
// parameter that is cut over a mesh it has the shape of the rank's piece, unless it is one number.
// A parameter that comes twice is a ValueError.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // step changes all parameters that have a gradient.
  virtual void step() = 0;

  // zero_grad drops the gradients.
  void zero_grad();

  // parameters are those of all groups, in order.
  const std::vector<Tensor>& parameters() const { return parameters_; }

  // needs_whole is true where the step of a parameter needs all of its elements at once, as for a
  // norm or a product of matrices. Such a parameter can't be stepped piece by piece.
  virtual bool needs_whole(std::size_t) const { return false; }
  // WholeTensors are a whole parameter, its gradient and its state by name.
  struct WholeTensors {
    Tensor parameter;
    Tensor gradient;
    std::map<std::string, Tensor> state;
  };
  // step_whole makes the step of a parameter of which this optimiser has only a piece, with the
  // whole tensors in the place of its own. They are changed; the piece and its state aren't.
  virtual void step_whole(std::size_t parameter, WholeTensors& whole);

  // Learning rates, one per group.
  virtual std::vector<double> learning_rates() const = 0;
  virtual void set_learning_rates(const std::vector<double>& rates) = 0;

  // state_names returns the names of the tensors that a step keeps for a parameter, alphabetically.
  virtual std::vector<std::string> state_names(std::size_t parameter) const = 0;
  // new_state returns such a tensor as it is before the first step: by default zeros like the
  // parameter, or like the rank's piece of it.
  virtual Tensor new_state(std::size_t parameter, const std::string& name) const;
  // is_state_like_parameter is true for a tensor of the parameter's shape, which is cut where the
  // parameter is; another one, such as a sum of each row, is always whole.
  virtual bool is_state_like_parameter(std::size_t, const std::string&) const { return true; }
  // state returns the tensors kept for a parameter by name ("momentum_buffer", "exp_avg",
  // "exp_avg_sq"), in alphabetical order; empty before its first step.
  const std::map<std::string, Tensor>& state(std::size_t parameter) const {
    return states_[parameter].tensors;
  }
  std::int64_t steps(std::size_t parameter) const { return states_[parameter].steps; }
  // group_of returns the index of a parameter's group.
  std::size_t group_of(std::size_t parameter) const { return groups_of_[parameter]; }
  // load_state replaces the state of a parameter.
  void load_state(std::size_t parameter, std::map<std::string, Tensor> tensors, std::int64_t steps);

 protected:
  struct State {
    std::map<std::string, Tensor> tensors;
    std::int64_t steps = 0;
  };

  Optimizer() = default;
  // add_parameters appends a group's parameters. Raises a ValueError for one that is there already.
  void add_parameters(const std::vector<Tensor>& parameters);
  State& state_of(std::size_t parameter) { return states_[parameter]; }
  // state_tensor returns a state tensor; a new one is new_state, or zeros of a shape.
  Tensor& state_tensor(std::size_t parameter, const std::string& name);
  Tensor& state_tensor(std::size_t parameter, const std::string& name, DimSpan shape, DType dtype);

 private:
  std::vector<Tensor> parameters_;
  std::vector<State> states_;
  std::vector<std::size_t> groups_of_;
  std::size_t group_count_ = 0;
};

}  // namespace simmesh::optim
