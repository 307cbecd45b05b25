#pragma once

#include <cstdint>

#include "pipeline/runtime/step_run.h"
#include "pipeline/schedule/schedule_class.h"

namespace simmesh::pipeline {

// SingleStageOptions are the options of a call of a schedule with one stage a rank.
struct SingleStageOptions {
  std::int64_t microbatches;
  bool finalize_gradients;
};

// run_single_stage_step does what the step function of GPipe, 1F1B or ForwardOnly does on this rank
// (see run_single_stage), and then reduces and divides the gradients.
void run_single_stage_step(ScheduleClass schedule, const StageSet& stages, StepRun& step,
                           const SingleStageOptions& options);

}  // namespace simmesh::pipeline
