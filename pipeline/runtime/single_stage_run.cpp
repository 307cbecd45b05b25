#include "pipeline/runtime/single_stage_run.h"

#include "pipeline/analysis/single_run.h"

namespace simmesh::pipeline {

namespace {

void reduce_gradients(PipelineStage& stage, bool finalizes) {
  if (!stage.is_sharded() || !stage.has_backward()) {
    if (finalizes || !stage.is_sharded()) stage.divide_gradients();
    return;
  }
  if (!finalizes) return;
  stage.start_reduction();
  stage.wait_reduction();
}

void perform(const RunEvent& event, PipelineStage& stage, StepRun& step) {
  switch (event.kind) {
    case RunEvent::Kind::compute: {
      const Action& action = event.actions.front();
      return action.kind == ActionKind::forward ? step.forward(action)
                                                : step.backward(action, event.is_last);
    }
    case RunEvent::Kind::post: return step.posts().post(event.actions);
    case RunEvent::Kind::wait: return step.posts().wait(event.actions.front());
    case RunEvent::Kind::release:
      return step.release({stage.stage_index(), ActionKind::send_f, event.number});
    case RunEvent::Kind::loss:    // comes with the forward
    case RunEvent::Kind::divide:  // comes after the losses
      return;
  }
}

}  // namespace

void run_single_stage_step(ScheduleClass schedule, const StageSet& stages, StepRun& step,
                           const SingleStageOptions& options) {
  PipelineStage& stage = *stages.local().front();
  SingleRun run{.schedule = schedule,
                .stages = stages.num_stages(),
                .microbatches = options.microbatches,
                .has_loss = stage.has_backward() && schedule != ScheduleClass::forward_only};
  for (const RunEvent& event : run_single_stage(run, stage.stage_index()))
    perform(event, stage, step);
  if (schedule != ScheduleClass::forward_only) reduce_gradients(stage, options.finalize_gradients);
}

}  // namespace simmesh::pipeline
