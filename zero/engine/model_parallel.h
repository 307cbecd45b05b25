#pragma once

#include <functional>
#include <string>

#include "core/tensor/tensor.h"

namespace simmesh::zero {

// ModelParallel is what an engine knows of a model that isn't whole on the members of its group:
// layers are split over other ranks, or some parameters, such as those of experts, are trained by
// another engine with a group of its own. The default is a model that is whole.
struct ModelParallel {
  // True for the names of the parameters that this engine trains; by default all.
  std::function<bool(const std::string& name)> trains = {};
  // True for those whose gradients this rank counts in the norm; by default all. A parameter that
  // other ranks have too must be counted by one of them.
  std::function<bool(const std::string& name)> counts = {};
  // Takes the sum of the squares of the gradients that this engine counts, over its group, and
  // returns that of the whole model; both float64 without dims, unrounded in exact arithmetic. All
  // members call it in a step.
  std::function<Tensor(const Tensor& squares)> all_squares = {};

  // True for those that no member of the group has used since the last step and that so have no
  // gradient, and aren't changed; by default none, and such a gradient counts as zeros.
  std::function<bool(const std::string& name)> is_unused = {};
  // Gradients are added up over the group and never divided, as where parts of the model have
  // groups of other sizes; else they are averaged, or added up as Config::sum_gradients says.
  bool adds_gradients = false;

  bool has_gradient(const std::string& name) const { return !is_unused || !is_unused(name); }
  bool is_trained(const std::string& name) const { return !trains || trains(name); }
  bool is_counted(const std::string& name) const { return !counts || counts(name); }
  Tensor squares_of_all(const Tensor& own) const { return all_squares ? all_squares(own) : own; }
};

}  // namespace simmesh::zero
