#include "pipeline/runtime/schedule.h"

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "pipeline/chunks/join.h"
#include "pipeline/runtime/inference.h"
#include "pipeline/runtime/single_stage_run.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* schedule_where = "pipeline/schedule";

const PipelineStage& first_of(const std::vector<PipelineStage*>& stages) {
  if (stages.empty())
    raise(ErrorKind::value_error, schedule_where, "expected at least one stage, got none");
  return *stages.front();
}

LoweredSchedule lowered_for(ScheduleClass schedule, const std::vector<PipelineStage*>& stages,
                            std::int64_t microbatches, const ScheduleOptions& options) {
  const PipelineStage& first = first_of(stages);
  ScheduleShape shape{.ranks = first.group().size(),
                      .stages_per_rank = std::int64_t(stages.size()),
                      .microbatches = microbatches};
  if (is_single_stage(schedule)) {
    if (stages.size() != 1)
      raise(ErrorKind::value_error, schedule_where, "{} expects one stage a rank, got {}",
            to_string(schedule), stages.size());
    shape.ranks = first.num_stages();
  }
  LoweredSchedule lowered = build_schedule(schedule, shape, options);
  if (shape.stages() != first.num_stages())
    raise(ErrorKind::value_error, schedule_where,
          "expected {} stages, {} on each of {} ranks, got a pipeline of {}", shape.stages(),
          stages.size(), shape.ranks, first.num_stages());
  return lowered;
}

}  // namespace

PipelineSchedule::PipelineSchedule(std::optional<ScheduleClass> schedule, LoweredSchedule lowered,
                                   std::vector<PipelineStage*> stages, ScheduleSettings settings)
    : single_stage_(schedule && is_single_stage(*schedule) ? schedule : std::nullopt),
      lowered_(std::move(lowered)),
      stages_(std::move(stages), lowered_.map),
      settings_(std::move(settings)) {}

PipelineSchedule::PipelineSchedule(ScheduleClass schedule,
                                   const std::vector<PipelineStage*>& stages,
                                   ScheduleSettings settings, const ScheduleOptions& options)
    : PipelineSchedule(std::optional(schedule),
                       lowered_for(schedule, stages, settings.microbatches, options), stages,
                       std::move(settings)) {}

PipelineSchedule PipelineSchedule::from_csv(std::string_view csv, std::string_view format,
                                            std::vector<PipelineStage*> stages,
                                            ScheduleSettings settings,
                                            const ScheduleOptions& options) {
  const PipelineStage& first = first_of(stages);
  ScheduleSize size{.ranks = first.group().size(),
                    .stages = first.num_stages(),
                    .microbatches = settings.microbatches};
  return PipelineSchedule(std::nullopt, load_csv(csv, format, size, options), std::move(stages),
                          std::move(settings));
}

nn::Tensors PipelineSchedule::step(const StepInputs& inputs) {
  bool has_backward = bool(settings_.loss);
  if (has_backward && !grad_enabled())
    raise(ErrorKind::runtime_error, schedule_where,
          "step() requires gradients to be enabled for backward computation: it should not be used "
          "under no_grad; call eval() instead");
  return run(inputs, has_backward);
}

nn::Tensors PipelineSchedule::eval(const StepInputs& inputs) { return run(inputs, false); }

// A parameter that several stages of the rank share is divided once: by the one that reduces last.
void PipelineSchedule::set_divisors() {
  std::int64_t divisor = settings_.scale_grads ? settings_.microbatches : 1;
  std::vector<PipelineStage*> order = stages_.local();
  if (!single_stage_) {
    order.clear();
    for (const Action& action : lowered_.rows()[std::size_t(stages_.group().rank())])
      if (action.kind == ActionKind::reduce_grad)
        if (PipelineStage* stage = stages_.find(action.stage)) order.push_back(stage);
  }
  std::vector<Tensor> later;
  for (auto stage = order.rbegin(); stage != order.rend(); ++stage) {
    (*stage)->set_divisor(divisor, later);
    std::vector<Tensor> own = (*stage)->module().parameters();
    later.insert(later.end(), own.begin(), own.end());
  }
}

void PipelineSchedule::prepare(const StepMicrobatches& microbatches, const StepInputs& inputs,
                               bool has_backward) {
  if (prepared_with_backward_ == has_backward) return;
  bool connects = !prepared_with_backward_;
  prepared_with_backward_.reset();
  infer_metas(stages_, {microbatches, settings_.loss, inputs.loss_kwargs, has_backward, connects});
  prepared_with_backward_ = has_backward;
}

nn::Tensors PipelineSchedule::run(const StepInputs& inputs, bool has_backward) {
  for (PipelineStage* stage : stages_.local()) stage->begin_call(has_backward);
  StepMicrobatches microbatches = cut_inputs(inputs, settings_.chunk_dims, settings_.microbatches);
  if (single_stage_ == ScheduleClass::forward_only &&
      (!microbatches.targets.empty() || inputs.losses != nullptr))
    raise(ErrorKind::runtime_error, schedule_where,
          "Forward-only schedule does not support loss computation");
  prepare(microbatches, inputs, has_backward);
  set_divisors();
  StepRun step({stages_, microbatches, settings_.loss, inputs.loss_kwargs, settings_.sends,
                inputs.return_outputs});
  if (single_stage_)
    run_single_stage_step(
        *single_stage_, stages_, step,
        {.microbatches = settings_.microbatches, .finalize_gradients = inputs.finalize_gradients});
  else
    RowRun(stages_, step, sharded_, {settings_.microbatches, inputs.finalize_gradients})
        .run(lowered_.rows()[std::size_t(stages_.group().rank())]);
  if (stages_.last() == nullptr) return {};
  if (inputs.losses != nullptr) {
    if (!settings_.loss)
      raise(ErrorKind::runtime_error, schedule_where, "Expecting {} losses but got 0",
            settings_.microbatches);
    *inputs.losses = step.losses();
  }
  return inputs.return_outputs ? joined(std::move(step.outputs())) : nn::Tensors();
}

nn::Tensors PipelineSchedule::joined(std::vector<nn::Tensors> outputs) const {
  std::size_t count = outputs.front().size();
  if (settings_.output_merge && settings_.output_merge->size() != count)
    raise(ErrorKind::value_error, schedule_where,
          "the outputs did not match the chunk spec: expected dims of {} outputs, got {}", count,
          settings_.output_merge->size());
  nn::Tensors joined;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Tensor> chunks;
    for (const nn::Tensors& microbatch : outputs) chunks.push_back(microbatch[i]);
    joined.push_back(
        join_chunks(chunks, settings_.output_merge ? (*settings_.output_merge)[i] : 0));
  }
  return joined;
}

}  // namespace simmesh::pipeline
