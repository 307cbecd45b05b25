#include "training/zero_training.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/neural/losses.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/convert.h"
#include "training/scalar_value.h"

namespace simmesh {

namespace {

// Returns the input of a step, micro-batch and rank: the formula times the factor of the step,
// rounded once.
Batch batch_of(const ZeroTask& task, std::int64_t step, std::int64_t micro, std::int64_t rank) {
  Formula data = task.data;
  data.seed += std::uint64_t(64 * step + 16 * micro + 2 * rank);
  Formula target = task.data;
  target.seed = data.seed + 1;
  target.dtype = DType::float32;
  Batch batch;
  batch.target = formula({task.batch, task.outputs}, target);
  if (task.has_indices) {
    data.rule = Rule::index;
    data.dtype = DType::int64;
    batch.input = formula({task.batch}, data);
    return batch;
  }
  data.dtype = DType::float64;
  Tensor values = formula({task.batch, task.inputs}, data);
  auto elements = values.mutable_values<double>();
  for (double& element : elements) element *= task.input_factor[std::size_t(step)];
  if (task.poison_step == step && rank == 0) elements[0] = std::numeric_limits<double>::infinity();
  batch.input = converted(values, task.model.dtype);
  return batch;
}

Tensor loss_of(const ZeroTask& task, const Tensor& output, const Tensor& target) {
  Tensor y = to(output, DType::float32);
  if (task.loss == LossKind::dot) return div(sum(mul(y, target)), double(task.batch));
  return div(sum(mse_loss(y, target, LossReduction::none)), double(target.element_count()));
}

optim::SgdOptions with_rates(optim::SgdOptions options, const ZeroTask::Group& group) {
  options.lr = group.lr;
  options.weight_decay = group.weight_decay;
  return options;
}

AdamSpec with_rates(AdamSpec spec, const ZeroTask::Group& group) {
  spec.options.lr = group.lr;
  spec.options.weight_decay = group.weight_decay;
  return spec;
}

// Stage0 is the part of one rank in a run.
class Stage0 {
 public:
  explicit Stage0(const ZeroTask& task);

  ZeroStep step(std::int64_t index);
  ZeroResult result(std::vector<ZeroStep> steps);

 private:
  // One optimiser per group of options, over the masters of the parameters that match the group.
  void make_optimizers();
  std::vector<double> run_micro_batches(std::int64_t step);
  void add_gradients();
  bool average_gradients();
  void update(ZeroStep& step);

  const ZeroTask& task_;
  ProcessGroup world_ = ProcessGroup::world();
  nn::ModulePtr model_;
  std::vector<nn::NamedTensor> parameters_;
  std::vector<Tensor> masters_;    // the parameters themselves if they are float32
  std::vector<Tensor> gradients_;  // float32 sums over micro-batches
  std::vector<std::unique_ptr<optim::Optimizer>> optimizers_;
  std::optional<optim::LossScaler> scaler_;
};

Stage0::Stage0(const ZeroTask& task) : task_(task), model_(build_model(task.model)) {
  for (auto& [name, parameter] : model_->named_parameters()) {
    parameters_.emplace_back(name, parameter);
    Tensor master = parameter.dtype() == DType::float32
                        ? parameter.detach()
                        : converted(parameter.detach(), DType::float32).clone();
    set_requires_grad(master, parameter.requires_grad());
    masters_.push_back(master);
  }
  if (task.scaler) scaler_.emplace(*task.scaler);
  make_optimizers();
}

void Stage0::make_optimizers() {
  std::vector<bool> taken(masters_.size(), false);
  auto take = [&](const OptimizerSpec& spec, std::string_view match) {
    std::vector<Tensor> members;
    for (std::size_t i = 0; i < masters_.size(); ++i) {
      if (taken[i] || parameters_[i].first.find(match) == std::string::npos) continue;
      taken[i] = true;
      members.push_back(masters_[i]);
    }
    optimizers_.push_back(make_optimizer(spec, members));
  };
  for (const ZeroTask::Group& group : task_.groups)
    take(std::visit([&](const auto& spec) { return OptimizerSpec(with_rates(spec, group)); },
                    task_.optimizer),
         group.match);
  take(task_.optimizer, "");
}

std::vector<double> Stage0::run_micro_batches(std::int64_t step) {
  std::vector<double> losses;
  for (std::int64_t micro = 0; micro < task_.accumulation; ++micro) {
    Batch batch = batch_of(task_, step, micro, world_.rank());
    Tensor loss = loss_of(task_, (*model_)(batch.input), batch.target);
    losses.push_back(scalar_value(loss.detach()));
    Tensor scaled = div(loss, double(task_.accumulation));
    backward(scaler_ ? scaler_->scaled(scaled) : scaled);
    add_gradients();
  }
  return losses;
}

void Stage0::add_gradients() {
  gradients_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& parameter = parameters_[i].second;
    Tensor gradient = grad_of(parameter);
    if (!gradient.is_defined()) continue;
    Tensor wide = converted(gradient.detach(), DType::float32);
    gradients_[i] = gradients_[i].is_defined() ? add(gradients_[i], wide) : wide;
    set_grad(parameter, Tensor());
  }
}

// average_gradients gives the masters the unscaled mean of the gradients over the ranks, and says
// whether that mean is finite.
bool Stage0::average_gradients() {
  bool is_finite = true;
  for (std::size_t i = 0; i < masters_.size(); ++i) {
    if (!masters_[i].requires_grad()) continue;
    Tensor own =
        gradients_[i].is_defined() ? gradients_[i] : zeros(masters_[i].shape(), DType::float32);
    Tensor mean = all_reduce(div(own, double(world_.size())), ReduceOp::sum, world_);
    is_finite &= optim::all_finite(mean);
    set_grad(masters_[i], scaler_ ? div(mean, scaler_->scale()) : mean);
  }
  gradients_.clear();
  return is_finite;
}

void Stage0::update(ZeroStep& step) {
  std::vector<Tensor> gradients;
  for (const Tensor& master : masters_)
    if (Tensor gradient = grad_of(master); gradient.is_defined()) gradients.push_back(gradient);
  step.norm = step.is_skipped ? std::numeric_limits<double>::infinity()
                              : scalar_value(optim::total_norm(gradients));
  if (!step.is_skipped) {
    if (task_.clip > 0) optim::clip_grad_norm_(masters_, {.max_norm = task_.clip});
    for (auto& optimizer : optimizers_) optimizer->step();
  }
  for (auto& optimizer : optimizers_) optimizer->zero_grad();
  for (std::size_t i = 0; i < masters_.size(); ++i) {
    Tensor target = parameters_[i].second.detach();
    if (target.dtype() != DType::float32)
      copy_(target, converted(masters_[i].detach(), target.dtype()));
    step.parameters.push_back(target.clone());
  }
}

ZeroStep Stage0::step(std::int64_t index) {
  ZeroStep step;
  step.scale_before = scaler_ ? scaler_->scale() : 1.0;
  step.losses = run_micro_batches(index);
  NoGrad mode;
  bool is_finite = average_gradients();
  step.is_skipped = scaler_ && !is_finite;
  update(step);
  if (scaler_) scaler_->update(is_finite);
  step.scale_after = scaler_ ? scaler_->scale() : 1.0;
  return step;
}

ZeroResult Stage0::result(std::vector<ZeroStep> steps) {
  ZeroResult result{std::move(steps), {}, {}};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    result.parameters.emplace_back(parameters_[i].first, parameters_[i].second.detach());
    if (parameters_[i].second.dtype() != DType::float32)
      result.masters.emplace_back(parameters_[i].first, masters_[i].detach());
  }
  return result;
}

}  // namespace

ZeroResult train_stage_0(const ZeroTask& task) {
  Stage0 rank(task);
  std::vector<ZeroStep> steps;
  for (std::int64_t step = 0; step < task.steps; ++step) steps.push_back(rank.step(step));
  return rank.result(std::move(steps));
}

}  // namespace simmesh
