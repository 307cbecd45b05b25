#pragma once

#include <array>
#include <type_traits>
#include <vector>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/optim/momenta.h"
#include "core/optim/optimizer.h"

namespace simmesh::optim {

// GroupedOptimizer keeps groups of parameters with options of their own, which have a field lr.
template <class Options>
class GroupedOptimizer : public Optimizer,
                         public std::conditional_t<has_momentum<Options>, Momenta, NoMomenta> {
 public:
  struct Group {
    std::vector<Tensor> parameters;
    Options options;
  };

  std::vector<double> learning_rates() const override {
    std::vector<double> rates;
    for (const Group& group : groups_) rates.push_back(group.options.lr);
    return rates;
  }
  void set_learning_rates(const std::vector<double>& rates) override {
    for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].options.lr = rates.at(i);
  }

  // set_momenta sets beta1 or the momentum of each group, where the options have one.
  void set_momenta(const std::vector<double>& momenta) override {
    if constexpr (has_momentum<Options>)
      for (std::size_t i = 0; i < groups_.size(); ++i)
        momentum_of(groups_[i].options) = momenta.at(i);
  }

  // set_betas sets the coefficients of both moments of each group.
  void set_betas(const std::vector<std::array<double, 2>>& betas) requires
      requires(Options options) {
    options.beta2;
  }
  {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      groups_[i].options.beta1 = betas.at(i)[0];
      groups_[i].options.beta2 = betas.at(i)[1];
    }
  }

  // step calls update for each parameter that has a gradient. Raises a ValueError for a parameter
  // that is cut over a mesh where a step needs it whole, unless the optimiser has a step for those.
  void step() override {
    for (std::size_t i = 0; i < parameters().size(); ++i) {
      Tensor gradient = grad_of(parameters()[i]);
      if (!gradient.is_defined()) continue;
      if (needs_whole(i) && parameters()[i].distribution())
        step_distributed(i, gradient);
      else
        step_part(i, gradient);
    }
  }

  void step_whole(std::size_t index, WholeTensors& whole) override {
    Optimizer::State& state = state_of(index);
    std::swap(state.tensors, whole.state);
    ++state.steps;
    update(index, whole.parameter, whole.gradient);
    std::swap(state.tensors, whole.state);
  }

 protected:
  explicit GroupedOptimizer(std::vector<Group> groups) : groups_(std::move(groups)) {
    for (const Group& group : groups_) add_parameters(group.parameters);
  }

  // add_group appends a group of parameters to those of the constructor.
  void add_group(Group group) {
    add_parameters(group.parameters);
    groups_.push_back(std::move(group));
  }

  // step_part makes the step of a rank's part of a parameter, which may be all of it.
  void step_part(std::size_t index, const Tensor& gradient) {
    Tensor parameter = parameters()[index].local_part();
    ++state_of(index).steps;
    update(index, parameter, gradient.local_part().clone());
    parameter.storage()->count_change();
  }

  // step_distributed makes the step of a parameter on a mesh where a step needs it whole: by
  // default a ValueError, unless this rank has all of it.
  virtual void step_distributed(std::size_t index, const Tensor& gradient) {
    const Tensor& parameter = parameters()[index];
    if (parameter.local_part().shape() != parameter.shape())
      raise(ErrorKind::value_error, "optim/optimizer",
            "expected a whole parameter, got one of shape {} that is cut over a mesh",
            to_string(DimSpan(parameter.shape())));
    step_part(index, gradient);
  }

  // update makes one step of a parameter, which state_of has counted. The gradient may be changed.
  virtual void update(std::size_t index, Tensor parameter, Tensor gradient) = 0;

  const Options& options_of(std::size_t index) const { return groups_[group_of(index)].options; }

 private:
  std::vector<Group> groups_;
};

}  // namespace simmesh::optim
