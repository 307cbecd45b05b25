#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/process_group.h"
#include "pipeline/lowering/lower.h"
#include "pipeline/runtime/posts.h"
#include "pipeline/stage/tensor_meta.h"
#include "training/pipelined/stage_plan.h"
#include "training/router_needs.h"
#include "training/training.h"

namespace simmesh {

// PipelinePlan is a model, how it is cut into stages, and the order in which ranks run them. It is
// made once; all ranks read it.
struct PipelinePlan {
  StagePlan stages;
  std::int64_t stages_per_rank = 1;
  // A class of schedules, or the text of a file and its format ("compute_only" or "compute_comms").
  std::optional<pipeline::ScheduleClass> schedule = pipeline::ScheduleClass::one_f_one_b;
  std::string csv = {};
  std::string csv_format = {};
  pipeline::ScheduleOptions options = {};
  pipeline::SendMode sends = pipeline::SendMode::rendezvous;
  pipeline::StageMap map = {};
  RouterNeeds routers = {};
  // The tensors that each stage gives to the next one, of one row.
  std::vector<pipeline::TensorMetas> boundaries = {};
};

// PipelineForm is the part of a training run that stages on several ranks add.
struct PipelineForm {
  const PipelinePlan& plan;
  ProcessGroup group;  // the ranks of one pipeline
  // Where experts are spread: the ranks with different ones of a stage, and those of all stages.
  std::optional<ProcessGroup> experts = {};
  std::optional<ProcessGroup> experts_of_all = {};
  // Returns the form of a stage: what prepares its module, and what follows its backward passes.
  std::function<ParallelForm(std::int64_t stage)> form_of_stage = {};
};

// train_pipeline runs a task on this rank, which has some stages of the model. `form` says what
// part of each micro-batch the rank takes, and how its gradients are used; it prepares the model
// that has all stages of the rank. Results are those of the whole model, on every rank.
//
// Gradients are sums over the micro-batches, which are divided by nothing: the loss of each is a
// part of that of the step.
TrainingResult train_pipeline(const TrainingTask& task, const ParallelForm& form,
                              const PipelineForm& pipeline);

}  // namespace simmesh
