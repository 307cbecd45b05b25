#include "core/optim/sgd.h"

#include <array>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/optim/element_update.h"
#include "core/tensor/convert.h"

namespace simmesh::optim {

namespace {

// Subtracts a gradient of at least the parameter's width, and rounds once to the parameter's dtype.
void update_without_momentum(SgdTensors& tensors, Tensor gradient, const SgdOptions& options) {
  double sign = options.maximize ? -1.0 : 1.0;
  bool is_wider =
      bytes_per_element(gradient.dtype()) > bytes_per_element(tensors.parameter.dtype());
  Tensor parameter = is_wider ? converted(tensors.parameter, gradient.dtype()) : tensors.parameter;
  update_elements<2>({&parameter, &gradient}, [&](auto& v) {
    using T = std::decay_t<decltype(v[0])>;
    auto& [p, g] = v;
    T decayed = T(sign) * g + T(options.weight_decay) * p;
    p -= T(options.lr) * decayed;
  });
  if (is_wider) copy_(tensors.parameter, converted(parameter, tensors.parameter.dtype()));
}

void update(SgdTensors& tensors, const SgdOptions& options) {
  Tensor gradient = tensors.gradient.clone();
  if (options.momentum == 0.0) return update_without_momentum(tensors, gradient, options);
  double sign = options.maximize ? -1.0 : 1.0;
  bool is_first = tensors.is_first;
  update_elements<3>({&tensors.parameter, &gradient, &tensors.momentum_buffer}, [&](auto& v) {
    using T = std::decay_t<decltype(v[0])>;
    auto& [p, g, b] = v;
    T decayed = T(sign) * g + T(options.weight_decay) * p;
    b = is_first ? decayed : T(options.momentum) * b + T(1.0 - options.dampening) * decayed;
    p -= T(options.lr) * (options.nesterov ? decayed + T(options.momentum) * b : b);
  });
}

// A narrower gradient is converted to the parameter's dtype, exactly. A momentum buffer would have
// the gradient's dtype.
Tensor widened(const Tensor& gradient, const Tensor& parameter, const SgdOptions& options) {
  bool is_narrower = bytes_per_element(gradient.dtype()) < bytes_per_element(parameter.dtype());
  return is_narrower && options.momentum == 0.0 ? converted(gradient, parameter.dtype()) : gradient;
}

}  // namespace

void sgd_(gsl::span<SgdTensors> list, const SgdOptions& options) {
  for (SgdTensors& tensors : list) {
    update(tensors, options);
    tensors.parameter.storage()->count_change();
  }
}

Sgd::Sgd(std::vector<Group> groups) : groups_(std::move(groups)) {
  for (const Group& group : groups_) {
    if (group.options.nesterov && (group.options.momentum <= 0 || group.options.dampening != 0))
      raise(ErrorKind::value_error, "optim/sgd",
            "Nesterov momentum requires a momentum and zero dampening");
    add_parameters(group.parameters);
  }
}

void Sgd::step() {
  std::size_t index = 0;
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.parameters.size(); ++i, ++index) {
      Tensor gradient = grad_of(parameters()[index]);
      if (!gradient.is_defined()) continue;
      State& state = state_of(index);
      Tensor parameter = parameters()[index].local_part(), local = gradient.local_part();
      SgdTensors tensors{parameter, widened(local, parameter, group.options), {}, state.steps == 0};
      if (group.options.momentum != 0.0)
        tensors.momentum_buffer = state_tensor(index, "momentum_buffer");
      sgd_(gsl::span<SgdTensors>(&tensors, 1), group.options);
      ++state.steps;
    }
  }
}

std::vector<std::string> Sgd::state_names(std::size_t parameter) const {
  if (groups_[group_of(parameter)].options.momentum == 0.0) return {};
  return {"momentum_buffer"};
}

std::vector<double> Sgd::learning_rates() const {
  std::vector<double> rates;
  for (const Group& group : groups_) rates.push_back(group.options.lr);
  return rates;
}

void Sgd::set_learning_rates(const std::vector<double>& rates) {
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].options.lr = rates.at(i);
}

void Sgd::set_momenta(const std::vector<double>& momenta) {
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].options.momentum = momenta.at(i);
}

}  // namespace simmesh::optim
