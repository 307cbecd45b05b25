#include "pipeline/lowering/lower.h"

#include <algorithm>

#include "core/check/error.h"
#include "pipeline/lowering/defer_recv.h"
#include "pipeline/lowering/reduce_grad.h"
#include "pipeline/lowering/send_budget.h"
#include "pipeline/lowering/send_recv.h"
#include "pipeline/lowering/wait_send.h"
#include "pipeline/schedule/csv.h"
#include "pipeline/schedule/order.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* lower_where = "pipeline/lower";

void require_compute_only(const Rows& rows) {
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    for (std::size_t i = 0; i < rows[rank].size(); ++i)
      if (const Action& action = rows[rank][i]; !action.is_idle() && !is_compute(action.kind))
        raise(ErrorKind::value_error, lower_where,
              "Expected compute-only schedule but found communication action '{}' at rank {}, "
              "position {}",
              to_string(action), rank, i);
}

void require_no_idle(const Rows& rows) {
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    if (idle_slots(rows[rank]) > 0)
      raise(ErrorKind::assertion_error, lower_where,
            "Expected action to be not None, got an idle slot of rank {}", rank);
}

// Validates the waits, and bounds the sends if that is asked for.
void finish(LoweredSchedule& schedule, const ScheduleOptions& options) {
  validate_send_waits(schedule.rows());
  if (!options.max_outstanding_sends) return;
  Rows rows = limit_sends(schedule.rows(), schedule.map, *options.max_outstanding_sends);
  validate_send_waits(rows);
  schedule.passes.push_back({"send_budget", std::move(rows)});
}

}  // namespace

void validate_options(const ScheduleOptions& options) {
  if (options.max_outstanding_sends && *options.max_outstanding_sends < 0)
    raise(ErrorKind::value_error, lower_where,
          "max_outstanding_sends must be a non-negative integer, got {}",
          *options.max_outstanding_sends);
}

LoweredSchedule lower(const Rows& rows, const ScheduleSize& size, const ScheduleOptions& options) {
  validate_options(options);
  LoweredSchedule schedule{.map = validate_rows(rows, size), .passes = {}};
  std::vector<UnshardWindow> windows =
      unshard_windows(options.unshard_lookahead, options.max_active_stages, size.ranks);
  require_compute_only(rows);
  auto add = [&](const char* name, Rows result) {
    schedule.passes.push_back({name, std::move(result)});
  };
  add("compute", rows);
  Rows unsharded, reduced;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    unsharded.push_back(add_unshard(rows[rank], windows[rank]));
    reduced.push_back(
        add_reduce_grad(unsharded[rank], size.microbatches, options.defer_reduce_grad_wait));
  }
  add("unshard", std::move(unsharded));
  add("reduce_grad", std::move(reduced));
  add("send_recv", add_send_recv(schedule.rows(), schedule.map, size.stages));
  add("wait_send", add_wait_send(schedule.rows()));
  if (options.defer_pp_recv) add("defer_recv", defer_recv(schedule.rows(), schedule.map));
  finish(schedule, options);
  return schedule;
}

LoweredSchedule adopt_lowered(const Rows& rows, const ScheduleSize& size,
                              const ScheduleOptions& options) {
  validate_options(options);
  LoweredSchedule schedule{.map = validate_rows(rows, size), .passes = {}};
  std::vector<UnshardWindow> windows =
      unshard_windows(options.unshard_lookahead, options.max_active_stages, size.ranks);
  bool is_full = std::all_of(windows.begin(), windows.end(), [](const UnshardWindow& window) {
    return window.lookahead == window.max_active;
  });
  if (!is_full)
    raise(ErrorKind::value_error, lower_where,
          "unshard_lookahead cannot be applied to an already-lowered compute_comms schedule");
  require_no_idle(rows);
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    validate_reductions(rows[rank], std::int64_t(rank));
  schedule.passes.push_back({"compute_comms", rows});
  finish(schedule, options);
  return schedule;
}

LoweredSchedule load_csv(std::string_view csv, std::string_view format, const ScheduleSize& size,
                         const ScheduleOptions& options) {
  if (format == "compute_only") return lower(read_csv(csv), size, options);
  if (format == "compute_comms") return adopt_lowered(read_csv(csv), size, options);
  raise(ErrorKind::not_implemented_error, lower_where,
        "format='{}' is not implemented, expected compute_only or compute_comms", format);
}

LoweredSchedule build_schedule(ScheduleClass schedule, const ScheduleShape& shape,
                               const ScheduleOptions& options) {
  if (is_single_stage(schedule)) {
    Rows rows = compute_order(schedule, shape);
    return {.map = stage_map_of(schedule, {shape.stages(), 1, shape.microbatches}),
            .passes = {{"compute", std::move(rows)}}};
  }
  validate_options(options);
  ScheduleSize size{shape.ranks, shape.stages(), shape.microbatches};
  return lower(compute_order(schedule, shape), size, options);
}

}  // namespace simmesh::pipeline
