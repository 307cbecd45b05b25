#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "pipeline/lowering/lower.h"
#include "pipeline/runtime/posts.h"
#include "pipeline/runtime/row_run.h"
#include "pipeline/runtime/step_inputs.h"

namespace simmesh::pipeline {

// ScheduleSettings are the arguments of the constructor of a schedule that say what a step
// computes.
struct ScheduleSettings {
  std::int64_t microbatches = 1;
  // Without a loss nothing runs backward.
  LossFunction loss = {};
  // Arguments are cut along dim 0 by default, and outputs joined along it.
  ChunkDims chunk_dims = {};
  std::optional<std::vector<std::int64_t>> output_merge = {};
  // Divides the gradients of a step by the number of micro-batches: for losses that are means.
  bool scale_grads = true;
  SendMode sends = SendMode::rendezvous;
};

// PipelineSchedule runs the stages of a rank, one call of `step` a batch. All ranks of the pipeline
// call it. Names, events, refusals and results are those of torch.distributed.pipelining, except
// where that is wrong: see docs/differences.md.
//
//   pipeline::PipelineStage stage(model, {.stage_index = 0, .num_stages = 4});
//   pipeline::LossFunction loss = [](const nn::Tensors& outputs, const Tensor& target,
//                                    const pipeline::Keywords&) {
//     return mse_loss(outputs[0], target);
//   };
//   pipeline::PipelineSchedule schedule(pipeline::ScheduleClass::one_f_one_b, {&stage},
//                                       {.microbatches = 8, .loss = loss});
//   std::vector<Tensor> losses;
//   if (stage.is_first()) schedule.step({.args = {x}});
//   if (stage.is_last()) schedule.step({.target = y, .losses = &losses});
//   optimizer.step();   // the gradients are those of the mean loss of the batch
class PipelineSchedule {
 public:
  // Stages are those of this rank, in ascending order; they outlive the schedule. Raises as
  // build_schedule and StageSet do.
  PipelineSchedule(ScheduleClass schedule, const std::vector<PipelineStage*>& stages,
                   ScheduleSettings settings, const ScheduleOptions& options = {});

  // from_csv runs the rows of a file; see load_csv.
  static PipelineSchedule from_csv(std::string_view csv, std::string_view format,
                                   std::vector<PipelineStage*> stages, ScheduleSettings settings,
                                   const ScheduleOptions& options = {});

  // step computes outputs, losses and gradients of a batch. It returns the joined outputs on the
  // rank of the last stage, nothing on others. Gradients are added to those that are there, and
  // only those of this call are divided. Raises a RuntimeError without gradients, as a stage's
  // forward and backward do, and as cut_inputs does.
  nn::Tensors step(const StepInputs& inputs);
  // eval does the same without a backward.
  nn::Tensors eval(const StepInputs& inputs);

  const StageSet& stages() const { return stages_; }
  const LoweredSchedule& lowered() const { return lowered_; }

 private:
  PipelineSchedule(std::optional<ScheduleClass> schedule, LoweredSchedule lowered,
                   std::vector<PipelineStage*> stages, ScheduleSettings settings);

  nn::Tensors run(const StepInputs& inputs, bool has_backward);
  void prepare(const StepMicrobatches& microbatches, const StepInputs& inputs, bool has_backward);
  void set_divisors();
  nn::Tensors joined(std::vector<nn::Tensors> outputs) const;

  std::optional<ScheduleClass> single_stage_;  // whose step function is run
  LoweredSchedule lowered_;
  StageSet stages_;
  ScheduleSettings settings_;
  ShardedStages sharded_;
  std::optional<bool> prepared_with_backward_;
};

}  // namespace simmesh::pipeline
