#include <algorithm>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "sharding/clip.h"
#include "sharding/dtensor.h"
#include "training/training_engine.h"

namespace simmesh {

namespace {

// Copies to host memory, because what a run reports must not count as memory that it needs.
Tensor host_copy(const Tensor& tensor) {
  Ledger::Uncharged host;
  return tensor.clone();
}

// Gathers a tensor that is distributed over a mesh.
Tensor whole(const Tensor& tensor) {
  if (!tensor.distribution()) return tensor.detach();
  return host_copy(DTensor::of(tensor.detach()).full_tensor());
}

// Gathers a tensor of the optimiser's state if it is distributed like its parameter.
Tensor whole_state(const Tensor& parameter, const Tensor& state) {
  if (!parameter.distribution() || state.shape() != parameter.local_part().shape()) return state;
  DTensorSpec spec = DTensor::of(parameter).spec();
  spec.dtype = state.dtype();
  return host_copy(DTensor(std::move(spec), state).full_tensor());
}

std::vector<nn::NamedTensor> gradients_of(nn::Module& model) {
  std::vector<nn::NamedTensor> gradients;
  for (auto& [name, parameter] : model.named_parameters())
    if (Tensor gradient = grad_of(parameter); gradient.is_defined())
      gradients.emplace_back(
          name, gradient.distribution() ? whole(gradient) : host_copy(gradient.detach()));
  return gradients;
}

bool is_cut(nn::Module& model) {
  std::vector<Tensor> parameters = model.parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Tensor& parameter) { return parameter.distribution() != nullptr; });
}

Tensor norm_of_gradients(nn::Module& model, const TrainingTask& task) {
  if (is_cut(model)) return total_norm(model.parameters(), task.norm_type);
  std::vector<Tensor> gradients;
  for (auto& [name, gradient] : gradients_of(model)) gradients.push_back(gradient);
  return optim::total_norm(gradients, task.norm_type);
}

Tensor clipped_norm(nn::Module& model, const optim::ClipOptions& options) {
  if (!is_cut(model)) return optim::clip_grad_norm_(model.parameters(), options);
  return clip_grad_norm_(
      model.parameters(),
      {.max_norm = options.max_norm, .norm_type = options.norm_type, .eps = options.eps});
}

class LocalEngine final : public TrainingEngine {
 public:
  LocalEngine(nn::Module& model, const TrainingTask& task, const ParallelForm& form)
      : model_(model),
        task_(task),
        form_(form),
        named_(model.named_parameters()),
        optimizer_(make_optimizer(task.optimizer, model.parameters())) {}

  void backward(const Tensor& loss) override { simmesh::backward(loss); }

  void step(TrainingResult& result) override {
    if (task_.clip)
      result.norms.push_back(clipped_norm(model_, *task_.clip));
    else if (form_.reports)
      result.norms.push_back(reported(form_, [&] {
        Ledger::Uncharged host;
        return norm_of_gradients(model_, task_);
      }));
    if (form_.reports)
      result.gradients.push_back(reported(form_, [&] { return gradients_of(model_); }));
    optimizer_->step();
    optimizer_->zero_grad();
  }

  void report(TrainingResult& result) override {
    for (auto& [name, parameter] : model_.named_parameters())
      result.parameters.emplace_back(name, whole(parameter));
    for (std::size_t i = 0; i < named_.size(); ++i)
      for (const auto& [name, tensor] : optimizer_->state(i))
        result.optimizer_state.emplace_back(named_[i].first + "." + name,
                                            whole_state(named_[i].second, tensor));
  }

 private:
  nn::Module& model_;
  const TrainingTask& task_;
  const ParallelForm& form_;
  std::vector<nn::NamedTensor> named_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace

std::unique_ptr<TrainingEngine> make_local_engine(nn::Module& model, const TrainingTask& task,
                                                  const ParallelForm& form) {
  return std::make_unique<LocalEngine>(model, task, form);
}

}  // namespace simmesh
