#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/lowering/unshard.h"
#include "pipeline/lowering/validate.h"
#include "pipeline/schedule/schedule_class.h"

namespace simmesh::pipeline {

// ScheduleOptions are the arguments of the constructor of a schedule that say how it is lowered.
struct ScheduleOptions {
  bool defer_pp_recv = false;
  std::int64_t max_active_stages = 3;
  UnshardLookahead unshard_lookahead = "full";
  bool defer_reduce_grad_wait = false;
  std::optional<std::int64_t> max_outstanding_sends = {};
};

// LoweringPass is the rows after a pass: "compute", "unshard", "reduce_grad", "send_recv",
// "wait_send", "defer_recv", "send_budget".
struct LoweringPass {
  std::string name;
  Rows rows;
};

// LoweredSchedule is a schedule with all that its ranks do. The rows of the last pass are run.
struct LoweredSchedule {
  StageMap map;
  std::vector<LoweringPass> passes;

  const Rows& rows() const { return passes.back().rows; }
};

// validate_options raises a ValueError for a negative max_outstanding_sends. What else an option
// may be depends on the schedule, and lower checks it.
void validate_options(const ScheduleOptions& options);

// lower adds to compute actions all else that ranks do: UNSHARD and RESHARD, REDUCE_GRAD, messages
// and their waits. Raises as validate_rows, unshard_windows and the passes do, and a ValueError for
// an action that isn't one of compute.
LoweredSchedule lower(const Rows& rows, const ScheduleSize& size,
                      const ScheduleOptions& options = {});

// adopt_lowered takes rows that have all actions already. Raises an AssertionError for an idle
// slot, and a ValueError for reductions and sends without a wait, and for an unshard_lookahead,
// which would come too late.
LoweredSchedule adopt_lowered(const Rows& rows, const ScheduleSize& size,
                              const ScheduleOptions& options = {});

// load_csv reads a schedule from a file: "compute_only" is lowered, "compute_comms" has been.
// Raises a NotImplementedError for another format.
LoweredSchedule load_csv(std::string_view csv, std::string_view format, const ScheduleSize& size,
                         const ScheduleOptions& options = {});

// build_schedule makes a schedule as its constructor does. A single-stage schedule has no pass but
// "compute", whatever the options.
LoweredSchedule build_schedule(ScheduleClass schedule, const ScheduleShape& shape,
                               const ScheduleOptions& options = {});

}  // namespace simmesh::pipeline
