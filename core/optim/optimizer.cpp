#include "core/optim/optimizer.h"

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/nn/module.h"

namespace simmesh::optim {

void Optimizer::zero_grad() {
  for (Tensor& parameter : parameters_) set_grad(parameter, Tensor());
}

void Optimizer::load_state(std::size_t parameter, std::map<std::string, Tensor> tensors,
                           std::int64_t steps) {
  states_[parameter] = {std::move(tensors), steps};
}

void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  for (const Tensor& parameter : parameters) {
    for (const Tensor& known : parameters_)
      if (nn::is_same_tensor(known, parameter))
        raise(ErrorKind::value_error, "optim/optimizer",
              "some parameters appear in more than one parameter group, or twice in one");
    parameters_.push_back(parameter);
    states_.emplace_back();
    groups_of_.push_back(group_count_);
  }
  ++group_count_;
}

Tensor& Optimizer::state_tensor(std::size_t parameter, const std::string& name) {
  Tensor& tensor = states_[parameter].tensors[name];
  if (!tensor.is_defined()) {
    Ledger::Category category(MemoryCategory::optimizer_state);
    tensor = new_state(parameter, name);
  }
  return tensor;
}

Tensor& Optimizer::state_tensor(std::size_t parameter, const std::string& name, DimSpan shape,
                                DType dtype) {
  Tensor& tensor = states_[parameter].tensors[name];
  if (!tensor.is_defined()) {
    Ledger::Category category(MemoryCategory::optimizer_state);
    tensor = zeros(shape, dtype);
  }
  return tensor;
}

void Optimizer::step_whole(std::size_t, WholeTensors&) {
  raise(ErrorKind::not_implemented_error, "optim/optimizer",
        "expected an optimiser that steps whole parameters, got one that steps elements");
}

Tensor Optimizer::new_state(std::size_t parameter, const std::string&) const {
  Tensor part = parameters_[parameter].local_part();
  return zeros(part.shape(), part.dtype());
}

}  // namespace simmesh::optim
