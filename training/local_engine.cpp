#include <algorithm>
#include <optional>

#include "checkpoint/catalog/training_state.h"
#include "checkpoint/save_load/random_state.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "sharding/api/dtensor_clip.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/optim/owned_steps.h"
#include "training/pipeline_ranks.h"
#include "training/spread_parameters.h"
#include "training/training_engine.h"

namespace simmesh {

namespace {

// Copies to host memory, because reported tensors must not count as memory that the run needs.
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

bool is_cut(nn::Module& model) {
  std::vector<Tensor> parameters = model.parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Tensor& parameter) { return parameter.distribution() != nullptr; });
}

class LocalEngine final : public TrainingEngine {
 public:
  LocalEngine(nn::Module& model, const TrainingTask& task, const ParallelForm& form)
      : model_(model),
        task_(task),
        form_(form),
        named_(model.named_parameters()),
        optimizer_(make_optimizer(task.optimizer, model.parameters())),
        rates_(optimizer_->learning_rates()) {
    const auto* muon = std::get_if<MuonSpec>(&task.optimizer);
    if (muon == nullptr || !muon->by_ops) owned_.emplace(*optimizer_);
  }

  void backward(const Tensor& loss) override { simmesh::backward(loss); }

  void set_rate_factor(double factor) override { set_rates(*optimizer_, rates_, factor); }

  void step(TrainingResult& result) override {
    if (task_.clip)
      result.norms.push_back(clipped_norm(*task_.clip));
    else if (form_.reports)
      result.norms.push_back(reported(form_, [&] {
        Ledger::Uncharged host;
        return norm_of_gradients();
      }));
    if (form_.reports)
      result.gradients.push_back(reported(form_, [&] { return whole_gradients(); }));
    owned_ ? owned_->step() : optimizer_->step();
    optimizer_->zero_grad();
  }

  checkpoint::StateDict state() override { return checkpoint::state_dict(model_, *optimizer_); }

  void report(TrainingResult& result) override {
    std::vector<nn::NamedTensor> parameters, states;
    for (auto& [name, parameter] : model_.named_parameters())
      parameters.emplace_back(name, whole(parameter));
    for (std::size_t i = 0; i < named_.size(); ++i)
      for (const auto& [name, tensor] : optimizer_->state(i))
        states.emplace_back(named_[i].first + "." + name, whole_state(named_[i].second, tensor));
    result.parameters = completed(form_, std::move(parameters));
    result.optimizer_state = completed(form_, std::move(states));
  }

 private:
  std::vector<nn::NamedTensor> whole_gradients() const {
    std::vector<nn::NamedTensor> gradients;
    for (auto& [name, parameter] : model_.named_parameters())
      if (Tensor gradient = grad_of(parameter); gradient.is_defined())
        gradients.emplace_back(
            name, gradient.distribution() ? whole(gradient) : host_copy(gradient.detach()));
    return completed(form_, std::move(gradients));
  }

  std::vector<OwnParameters> own() const {
    std::vector<OwnParameters> lists;
    if (form_.spread) lists = {(*form_.spread)->own(model_)};
    if (form_.pipeline)
      return form_.pipeline->own(model_,
                                 lists.empty() ? std::vector<Tensor>() : lists[0].parameters);
    return lists;
  }

  bool is_on_this_rank() const { return !form_.spread && !form_.pipeline && !is_cut(model_); }

  Tensor norm_of_gradients() const {
    if (!is_on_this_rank())
      return total_norm(form_.pipeline ? form_.pipeline->counted(model_) : model_.parameters(),
                        task_.norm_type, own());
    std::vector<Tensor> gradients;
    for (auto& [name, gradient] : whole_gradients()) gradients.push_back(gradient);
    return optim::total_norm(gradients, task_.norm_type);
  }

  Tensor clipped_norm(const optim::ClipOptions& options) const {
    if (is_on_this_rank()) return optim::clip_grad_norm_(model_.parameters(), options);
    Tensor norm = norm_of_gradients();
    std::vector<OwnParameters> apart = own();
    clip_grads_with_norm_(model_.parameters(), norm,
                          {.max_norm = options.max_norm,
                           .norm_type = options.norm_type,
                           .eps = options.eps,
                           .own = apart});
    return norm;
  }

  nn::Module& model_;
  const TrainingTask& task_;
  const ParallelForm& form_;
  std::vector<nn::NamedTensor> named_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<OwnedSteps> owned_;
  std::vector<double> rates_;  // those that the optimiser began with
};

}  // namespace

checkpoint::StateDict state_of_run(TrainingEngine& engine) {
  checkpoint::StateDict state = engine.state();
  checkpoint::add_random_state(state);
  return state;
}

std::vector<nn::NamedTensor> completed(const ParallelForm& form,
                                       std::vector<nn::NamedTensor> tensors) {
  if (form.spread) tensors = (*form.spread)->complete(tensors);
  return form.pipeline ? form.pipeline->complete(tensors) : tensors;
}

void add_buffers(nn::Module& model, const ParallelForm& form, TrainingResult& result) {
  Ledger::Uncharged host;
  std::vector<nn::NamedTensor> buffers;
  for (const auto& [name, buffer] : checkpoint::named_buffers(model))
    buffers.emplace_back(name, buffer.clone());
  if (form.pipeline) buffers = form.pipeline->complete(buffers);
  for (nn::NamedTensor& buffer : buffers) result.parameters.push_back(std::move(buffer));
}

std::unique_ptr<TrainingEngine> make_local_engine(nn::Module& model, const TrainingTask& task,
                                                  const ParallelForm& form) {
  return std::make_unique<LocalEngine>(model, task, form);
}

}  // namespace simmesh
