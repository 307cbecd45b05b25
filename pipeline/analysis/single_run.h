#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/schedule/action.h"
#include "pipeline/schedule/schedule_class.h"

namespace simmesh::pipeline {

// RunEvent is what the step function of a single-stage schedule does at one moment.
struct RunEvent {
  // Kind is what happens.
  enum class Kind : std::uint8_t {
    compute,  // F or B, in `actions`
    loss,
    post,     // messages as one batch
    wait,     // for such a batch
    release,  // the stage drops its outputs of micro-batch `number`, whose send is over
    divide,   // gradients by `number`
  };

  Kind kind;
  std::vector<Action> actions = {};
  std::int64_t number = 0;
  bool is_last = false;  // of a B: the last one of the call
};

// to_string returns "0F1", "0B1 last", "post 0SEND_F1+0RECV_B0", "wait 0RECV_B0", "loss",
// "release 1" or "divide 4".
std::string to_string(const RunEvent& event);

// SingleRun says how the step function is called.
struct SingleRun {
  ScheduleClass schedule;
  std::int64_t stages;
  std::int64_t microbatches;
  bool has_loss = true;     // without a loss function nothing runs backward
  bool scale_grads = true;  // by the number of micro-batches
};

// run_single_stage returns what the step function does on the rank of a stage. GPipe waits for all
// its forward sends before the first backward. 1F1B joins a send and the receive that comes next
// into one batch. ForwardOnly has no loss. Raises a ValueError for other schedules, and as
// validate_shape does.
std::vector<RunEvent> run_single_stage(const SingleRun& run, std::int64_t stage);

}  // namespace simmesh::pipeline
