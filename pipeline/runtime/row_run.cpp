#include "pipeline/runtime/row_run.h"

#include "core/check/error.h"
#include "pipeline/stage/event.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* row_where = "pipeline/row_run";

}  // namespace

using enum ActionKind;

void RowRun::run(const Row& row) {
  sharded_.finalized.clear();
  for (const Action& action : row) {
    if (action.is_idle()) continue;
    emit({.kind = EventKind::action, .text = to_string(action)});
    for (const Action& leaf : action.leaves()) perform(leaf);
  }
  for (const ActionKey& key : step_.posts().pending())
    raise(ErrorKind::assertion_error, row_where, "expected a wait for {}, got none",
          to_string(key));
  if (!sharded_.gathering.empty())
    raise(ErrorKind::assertion_error, row_where,
          "expected a computation after the unshard of stage {}, got none",
          sharded_.gathering.begin()->first);
}

void RowRun::perform(const Action& action) {
  PipelineStage& stage = stages_.at(action.stage);
  switch (action.kind) {
    case send_f:
    case send_b:
    case recv_f:
    case recv_b:
      if (step_.posts().is_posted(action))
        raise(ErrorKind::assertion_error, row_where, "expected {} once, got it twice",
              to_string(action));
      return step_.posts().post({action});
    case wait_send_f:
    case wait_send_b: {
      Action send{action.stage, send_of(action.kind), action.microbatch};
      if (!step_.posts().is_posted(send))
        raise(ErrorKind::assertion_error, row_where, "expected a pending send for {}, got none",
              to_string(action));
      step_.posts().wait(send);
      if (action.kind == wait_send_f) step_.release(send);
      return;
    }
    case ActionKind::unshard: return unshard(stage);
    case ActionKind::reshard: return reshard(stage);
    case reduce_grad: return reduce(stage);
    case wait_reduce_grad: return await_reduction(stage);
    default: return compute(action);
  }
}

// True for the last backward of a stage in the call: the B or W of the last micro-batch to come.
bool RowRun::counts_as_last(std::int64_t stage) {
  return ++backwards_[stage] == options_.microbatches;
}

// Waits for the receive of an input that comes from another rank.
void RowRun::await_input(const Action& action, ActionKind receive, std::int64_t source) {
  if (source < 0 || source >= stages_.num_stages() || stages_.find(source) != nullptr) return;
  Action received{action.stage, receive, action.microbatch};
  if (!step_.posts().is_posted(received))
    raise(ErrorKind::assertion_error, row_where, "expected {} before {}, got none",
          to_string(received), to_string(action));
  step_.posts().wait(received);
}

void RowRun::compute(const Action& action) {
  await_parameters(stages_.at(action.stage));
  switch (action.kind) {
    case ActionKind::forward:
      await_input(action, recv_f, action.stage - 1);
      return step_.forward(action);
    case full_backward:
    case backward_input: {
      await_input(action, recv_b, action.stage + 1);
      bool is_last = action.kind == full_backward && counts_as_last(action.stage);
      return step_.backward(action, is_last);
    }
    case ActionKind::backward_weight:
      return step_.backward_weight(action, counts_as_last(action.stage));
    default:
      raise(ErrorKind::value_error, row_where, "expected an action that a rank can run, got {}",
            to_string(action));
  }
}

void RowRun::await_parameters(PipelineStage& stage) {
  if (!stage.is_sharded()) return;
  std::int64_t index = stage.stage_index();
  if (auto gathering = sharded_.gathering.extract(index)) {
    for (fsdp::UnshardHandle& handle : gathering.mapped()) handle.wait();
    sharded_.whole.insert(index);
  }
  if (sharded_.whole.count(index) == 0)
    raise(ErrorKind::assertion_error, row_where, "attempted to compute on sharded stage {}", index);
}

void RowRun::unshard(PipelineStage& stage) {
  std::int64_t index = stage.stage_index();
  if (!stage.is_sharded() || sharded_.deferred.erase(index) > 0) return;
  if (sharded_.whole.count(index) > 0 || sharded_.gathering.count(index) > 0)
    raise(ErrorKind::assertion_error, row_where, "already unsharded: stage {}", index);
  sharded_.gathering[index] = stage.unshard();
}

void RowRun::reshard(PipelineStage& stage) {
  std::int64_t index = stage.stage_index();
  if (!stage.is_sharded() || sharded_.finalized.erase(index) > 0) return;
  if (!options_.finalize_gradients && backwards_[index] == options_.microbatches) {
    sharded_.deferred.insert(index);
    return;
  }
  if (sharded_.whole.erase(index) == 0)
    raise(ErrorKind::assertion_error, row_where, "resharding stage {} without unsharding", index);
  stage.reshard();
}

void RowRun::reduce(PipelineStage& stage) {
  if (!stage.has_backward()) return;
  if (!stage.is_sharded()) return stage.divide_gradients();
  std::int64_t index = stage.stage_index();
  if (!options_.finalize_gradients) {
    sharded_.deferred.insert(index);
    return;
  }
  stage.start_reduction();
  sharded_.whole.erase(index);
  sharded_.deferred.erase(index);
  sharded_.finalized.insert(index);
}

void RowRun::await_reduction(PipelineStage& stage) {
  if (stage.has_backward() && stage.is_sharded() && options_.finalize_gradients)
    stage.wait_reduction();
}

}  // namespace simmesh::pipeline
