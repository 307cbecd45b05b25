#include "training/training.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/arithmetic/unrounded.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/neural/losses.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/chunk.h"
#include "core/tensor/convert.h"
#include "core/tensor/scalar_value.h"
#include "fsdp/clip.h"
#include "sharding/dtensor.h"

namespace simmesh {

namespace {

constexpr std::string_view training_source = "training/training";

Tensor part_of(const Tensor& batch, const ParallelForm& form) {
  // The copy charges the rank for its own rows only.
  Chunk chunk = chunk_of({.size = batch.size(0), .parts = form.parts, .index = form.part});
  return batch.narrow({0, chunk.start, chunk.length}).clone();
}

// Returns the terms of the loss: their sum, divided by their number, is the loss.
Tensor loss_terms(LossKind kind, const Tensor& output, const Tensor& target) {
  switch (kind) {
    case LossKind::mse: return mse_loss(output, target, LossReduction::none);
    case LossKind::dot: return mul(output, target);
    case LossKind::cross_entropy: {
      std::int64_t classes = output.size(output.dim() - 1);
      return cross_entropy(reshape(output, {-1, classes}), reshape(target, {-1}),
                           {.reduction = LossReduction::none});
    }
  }
  SIMMESH_CHECK(false, "unknown loss {}", int(kind));
}

// LossSum adds up the loss of a step over micro-batches and ranks. In exact arithmetic it adds
// unrounded terms, so the way in which the batch is cut doesn't change it.
class LossSum {
 public:
  void add(const Tensor& terms, const Tensor& loss) {
    losses_.push_back(scalar_value(loss.detach()));
    if (!current_arithmetic().is_exact()) return;
    Ledger::Uncharged host;
    Clock::Quiet no_launches;
    UnroundedSums scope;
    sums_.push_back(unrounded(simmesh::sum(terms.detach())));
  }

  // Adds over ranks first and then over micro-batches.
  Tensor value(const TrainingTask& task, const ParallelForm& form) const {
    Tensor losses = empty({std::int64_t(losses_.size())}, DType::float64);
    std::copy(losses_.begin(), losses_.end(), losses.mutable_values<double>().begin());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      Tensor loss = losses.narrow({.dim = 0, .start = std::int64_t(i), .length = 1});
      keep_unrounded(loss, sums_[i]);
    }
    UnroundedSums scope;
    if (form.all_sum) losses = form.all_sum(losses);
    double total = 0;
    if (sums_.empty())
      for (double loss : losses.values<double>()) total += loss / form.gradient_divisor;
    else
      total = unrounded(simmesh::sum(losses)).rounded(0, DType::float64) / task.terms;
    return full(DimSpan(), DType::float64, total);
  }

 private:
  std::vector<double> losses_;     // one per micro-batch
  std::vector<CarriedSums> sums_;  // of its terms, in exact arithmetic
};

struct MicroBatch {
  std::int64_t step;
  std::int64_t index;
};

void run_micro_batch(nn::Module& model, const TrainingTask& task, const ParallelForm& form,
                     const MicroBatch& micro, LossSum& sum) {
  Batch batch = task.batch(micro.step, micro.index);
  Tensor input = part_of(batch.input, form), target = part_of(batch.target, form);
  Tensor terms = loss_terms(task.loss, model(input), target);
  Tensor loss = div(simmesh::sum(terms), task.terms / form.gradient_divisor);
  if (form.reports) sum.add(terms, loss);
  if (form.at_phase && micro.index + 1 == task.micro_batches)
    form.at_phase(micro.step, TrainPhase::backward);
  backward(loss);
}

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
  if (is_cut(model)) return fsdp::total_norm(model.parameters(), task.norm_type);
  std::vector<Tensor> gradients;
  for (auto& [name, gradient] : gradients_of(model)) gradients.push_back(gradient);
  return optim::total_norm(gradients, task.norm_type);
}

Tensor clipped_norm(nn::Module& model, const optim::ClipOptions& options) {
  return is_cut(model) ? fsdp::clip_grad_norm_(model.parameters(), options)
                       : optim::clip_grad_norm_(model.parameters(), options);
}

template <class Work>
auto reported(const ParallelForm& form, Work work) {
  if (form.at_report) form.at_report(true);
  auto result = work();
  if (form.at_report) form.at_report(false);
  return result;
}

LossSum run_step(nn::Module& model, optim::Optimizer& optimizer, const TrainingTask& task,
                 const ParallelForm& form, std::int64_t step, TrainingResult& result) {
  LossSum sum;
  if (form.at_phase) form.at_phase(step, TrainPhase::forward);
  for (std::int64_t micro = 0; micro < task.micro_batches; ++micro) {
    if (in_rank()) this_rank().heartbeat();
    if (form.before_micro_batch) form.before_micro_batch(model, micro + 1 == task.micro_batches);
    run_micro_batch(model, task, form, {step, micro}, sum);
  }
  if (form.after_backward) form.after_backward(model);
  if (form.at_phase) form.at_phase(step, TrainPhase::optimizer);
  if (task.clip)
    result.norms.push_back(clipped_norm(model, *task.clip));
  else if (form.reports)
    result.norms.push_back(reported(form, [&] {
      Ledger::Uncharged host;
      return norm_of_gradients(model, task);
    }));
  if (form.reports) result.gradients.push_back(reported(form, [&] { return gradients_of(model); }));
  optimizer.step();
  optimizer.zero_grad();
  return sum;
}

}  // namespace

SlotPath find_slot(nn::Module& model, const std::string& path) {
  std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {&model, path};
  return {&model.find(path.substr(0, dot)), path.substr(dot + 1)};
}

Tensor parameter_values(const ParameterData& parameter, DType dtype) {
  Formula data = parameter.data;
  data.dtype = DType::float64;
  Tensor values = formula(parameter.shape, data);
  if (values.has_elements())
    for (double& value : values.mutable_values<double>())
      value = value * parameter.scale + parameter.offset;
  return converted(values, dtype);
}

namespace {

nn::ModulePtr build_tied(const TrainingModel& model, bool on_meta) {
  nn::ModulePtr built = nn::build(model.node, {.dtype = model.dtype, .device = nn::Device::meta});
  if (!on_meta) built->to_empty();
  for (const auto& [slot, other] : model.tied) {
    SlotPath to = find_slot(*built, slot), from = find_slot(*built, other);
    to.module->set_parameter(to.name, from.module->parameter(from.name));
  }
  for (const std::string& name : model.frozen) {
    SlotPath path = find_slot(*built, name);
    Tensor parameter = path.module->parameter(path.name);
    set_requires_grad(parameter, false);
  }
  return built;
}

}  // namespace

nn::ModulePtr build_meta_model(const TrainingModel& model) { return build_tied(model, true); }

nn::ModulePtr build_model(const TrainingModel& model) {
  Ledger::Category category(MemoryCategory::parameter);
  nn::ModulePtr built = build_tied(model, false);
  for (auto& [name, parameter] : built->named_parameters()) {
    auto given = std::find_if(model.parameters.begin(), model.parameters.end(),
                              [&name = name](const ParameterData& p) { return p.name == name; });
    if (given == model.parameters.end())
      raise(ErrorKind::value_error, training_source,
            "expected values for the parameter {}, got none", name);
    if (given->shape != parameter.shape())
      raise(ErrorKind::value_error, training_source, "parameter {}: expected the shape {}, got {}",
            name, to_string(DimSpan(parameter.shape())), to_string(DimSpan(given->shape)));
    Tensor data = parameter.detach();
    copy_(data, parameter_values(*given, model.dtype));
  }
  return built;
}

std::string_view to_string(LossKind kind) {
  return kind == LossKind::mse ? "mse" : kind == LossKind::dot ? "dot" : "cross_entropy";
}

std::string_view to_string(TrainPhase phase) {
  return phase == TrainPhase::forward    ? "forward"
         : phase == TrainPhase::backward ? "backward"
                                         : "optimizer";
}

std::optional<LossKind> loss_from_string(std::string_view name) {
  for (LossKind kind : {LossKind::mse, LossKind::cross_entropy, LossKind::dot})
    if (to_string(kind) == name) return kind;
  return std::nullopt;
}

std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerSpec& spec,
                                                 const std::vector<Tensor>& parameters) {
  if (const auto* sgd = std::get_if<optim::SgdOptions>(&spec))
    return std::make_unique<optim::Sgd>(parameters, *sgd);
  const AdamSpec& adam = std::get<AdamSpec>(spec);
  return std::make_unique<optim::Adam>(parameters, adam.options, adam.decay);
}

TrainingResult train(const TrainingTask& task, const ParallelForm& form) {
  nn::ModulePtr model = build_model(task.model);
  if (form.prepare) form.prepare(*model);
  std::vector<std::pair<std::string, Tensor>> named = model->named_parameters();
  std::unique_ptr<optim::Optimizer> optimizer = make_optimizer(task.optimizer, model->parameters());
  TrainingResult result;
  std::vector<LossSum> sums;
  for (std::int64_t step = 0; step < task.steps; ++step)
    sums.push_back(run_step(*model, *optimizer, task, form, step, result));
  if (form.after_training) form.after_training();
  if (!form.reports) return {};
  for (LossSum& sum : sums) result.losses.push_back(sum.value(task, form));
  for (auto& [name, parameter] : model->named_parameters())
    result.parameters.emplace_back(name, whole(parameter));
  for (std::size_t i = 0; i < named.size(); ++i)
    for (const auto& [name, tensor] : optimizer->state(i))
      result.optimizer_state.emplace_back(named[i].first + "." + name,
                                          whole_state(named[i].second, tensor));
  return result;
}

}  // namespace simmesh
