#include "training/zero_training.h"

#include <limits>

#include "collectives/process_group.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/neural/losses.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/convert.h"
#include "core/tensor/scalar_value.h"
#include "zero/engine/engine.h"
#include "zero/stage3/gathered_parameters.h"

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
  auto elements = values.has_elements() ? values.mutable_values<double>() : gsl::span<double>();
  for (double& element : elements) element *= task.input_factor[std::size_t(step)];
  if (task.poison_step == step && rank == 0 && !elements.empty())
    elements[0] = std::numeric_limits<double>::infinity();
  batch.input = converted(values, task.model.dtype);
  return batch;
}

Tensor loss_of(const ZeroTask& task, const Tensor& output, const Tensor& target) {
  Tensor y = to(output, DType::float32);
  if (task.loss == LossKind::dot) return div(sum(mul(y, target)), double(task.batch));
  return div(sum(mse_loss(y, target, LossReduction::none)), double(target.numel()));
}

optim::SgdOptions with_rates(optim::SgdOptions options, const ZeroTask::Group& group) {
  options.lr = group.lr;
  options.weight_decay = group.weight_decay;
  return options;
}

optim::AdamOptions with_rates(optim::AdamOptions options, const ZeroTask::Group& group) {
  options.lr = group.lr;
  options.weight_decay = group.weight_decay;
  return options;
}

// Makes one group of the optimiser for each group of the task, with the masters whose names match
// it, and one for the rest.
template <class OptimizerGroup, class Options>
std::vector<OptimizerGroup> groups_of(const ZeroTask& task, const Options& options,
                                      const std::vector<nn::NamedTensor>& masters) {
  std::vector<OptimizerGroup> groups;
  for (const ZeroTask::Group& group : task.groups)
    groups.push_back({{}, with_rates(options, group)});
  groups.push_back({{}, options});
  for (const auto& [name, master] : masters) {
    std::size_t taker = 0;
    while (taker < task.groups.size() && name.find(task.groups[taker].match) == name.npos) ++taker;
    groups[taker].parameters.push_back(master);
  }
  return groups;
}

std::unique_ptr<optim::Optimizer> zero_optimizer(const ZeroTask& task,
                                                 const std::vector<nn::NamedTensor>& masters) {
  if (const auto* sgd = std::get_if<optim::SgdOptions>(&task.optimizer))
    return std::make_unique<optim::Sgd>(groups_of<optim::Sgd::Group>(task, *sgd, masters));
  const AdamSpec& adam = std::get<AdamSpec>(task.optimizer);
  return std::make_unique<optim::Adam>(groups_of<optim::Adam::Group>(task, adam.options, masters),
                                       adam.decay);
}

ZeroStep run_zero_step(const ZeroTask& task, zero::Engine& engine, std::int64_t index,
                       std::int64_t rank) {
  ZeroStep step;
  step.scale_before = engine.loss_scale();
  for (std::int64_t micro = 0; micro < task.config.gradient_accumulation_steps.value_or(1);
       ++micro) {
    Batch batch = batch_of(task, index, micro, rank);
    Tensor loss = loss_of(task, engine(batch.input), batch.target);
    step.losses.push_back(scalar_value(loss.detach()));
    engine.backward(loss);
    engine.step();
  }
  step.scale_after = engine.loss_scale();
  step.norm = engine.get_global_grad_norm();
  step.is_skipped = !engine.was_step_applied();
  zero::GatheredParameters whole(engine.module());
  for (const auto& [name, parameter] : engine.module().named_parameters())
    step.parameters.push_back(parameter.detach().clone());
  return step;
}

}  // namespace

ZeroResult train_zero(const ZeroTask& task) {
  ProcessGroup world = ProcessGroup::world();
  nn::ModulePtr model = build_model(task.model);
  auto make_optimizer = [&task](const std::vector<nn::NamedTensor>& masters) {
    return zero_optimizer(task, masters);
  };
  zero::Engine engine = zero::initialize(*model, make_optimizer, task.config, world);
  ZeroResult result;
  for (std::int64_t step = 0; step < task.steps; ++step)
    result.steps.push_back(run_zero_step(task, engine, step, world.rank()));
  zero::GatheredParameters whole(*model);
  std::vector<nn::NamedTensor> parameters = model->named_parameters();
  for (const auto& [name, parameter] : parameters) {
    result.parameters.emplace_back(name, parameter.detach().clone());
    if (parameter.dtype() != DType::float32)
      result.masters.emplace_back(name, engine.safe_get_full_fp32_param(name));
  }
  return result;
}

}  // namespace simmesh
