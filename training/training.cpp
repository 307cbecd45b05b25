#include "training/training.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/arithmetic/unrounded.h"
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
#include "training/training_engine.h"

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

void run_micro_batch(nn::Module& model, TrainingEngine& engine, const TrainingTask& task,
                     const ParallelForm& form, const MicroBatch& micro, LossSum& sum) {
  Batch batch = task.batch(micro.step, micro.index);
  Tensor input = part_of(batch.input, form), target = part_of(batch.target, form);
  Tensor terms = loss_terms(task.loss, model(input), target);
  Tensor loss = div(simmesh::sum(terms), task.terms / form.gradient_divisor);
  if (form.reports) sum.add(terms, loss);
  if (form.at_phase && micro.index + 1 == task.micro_batches)
    form.at_phase(micro.step, TrainPhase::backward);
  engine.backward(loss);
}

LossSum run_step(nn::Module& model, TrainingEngine& engine, const TrainingTask& task,
                 const ParallelForm& form, std::int64_t step, TrainingResult& result) {
  LossSum sum;
  if (form.at_phase) form.at_phase(step, TrainPhase::forward);
  for (std::int64_t micro = 0; micro < task.micro_batches; ++micro) {
    if (in_rank()) this_rank().heartbeat();
    if (form.before_micro_batch) form.before_micro_batch(model, micro + 1 == task.micro_batches);
    run_micro_batch(model, engine, task, form, {step, micro}, sum);
  }
  if (form.after_backward) form.after_backward(model);
  if (form.at_phase) form.at_phase(step, TrainPhase::optimizer);
  engine.step(result);
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
  std::unique_ptr<TrainingEngine> engine = form.make_engine ? form.make_engine(*model, task, form)
                                                            : make_local_engine(*model, task, form);
  TrainingResult result;
  std::vector<LossSum> sums;
  for (std::int64_t step = 0; step < task.steps; ++step)
    sums.push_back(run_step(*model, *engine, task, form, step, result));
  if (form.after_training) form.after_training();
  if (!form.reports) return {};
  for (LossSum& sum : sums) result.losses.push_back(sum.value(task, form));
  engine->report(result);
  return result;
}

}  // namespace simmesh
