#pragma once

#include <vector>

#include "core/autograd/variable.h"
#include "core/optim/optimizer.h"

namespace simmesh::optim {

// GroupedOptimizer keeps groups of parameters with options of their own, which have a field lr.
template <class Options>
class GroupedOptimizer : public Optimizer {
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

  // step calls update for each parameter that has a gradient.
  void step() override {
    for (std::size_t i = 0; i < parameters().size(); ++i) {
      Tensor gradient = grad_of(parameters()[i]);
      if (!gradient.is_defined()) continue;
      ++state_of(i).steps;
      Tensor parameter = parameters()[i].local_part();
      update(i, parameter, gradient.local_part().clone());
      parameter.storage()->count_change();
    }
  }

 protected:
  explicit GroupedOptimizer(std::vector<Group> groups) : groups_(std::move(groups)) {
    for (const Group& group : groups_) add_parameters(group.parameters);
  }

  // update makes one step of a parameter, which state_of has counted. The gradient is a copy.
  virtual void update(std::size_t index, Tensor parameter, Tensor gradient) = 0;

  const Options& options_of(std::size_t index) const { return groups_[group_of(index)].options; }

 private:
  std::vector<Group> groups_;
};

}  // namespace simmesh::optim
