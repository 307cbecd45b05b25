#include "pipeline/schedule/order.h"

#include "pipeline/schedule/rank_orders.h"

namespace simmesh::pipeline {

namespace {

Row row_of(ScheduleClass schedule, const ScheduleShape& shape, std::int64_t rank) {
  switch (schedule) {
    case ScheduleClass::gpipe: return gpipe_row(shape, rank);
    case ScheduleClass::one_f_one_b: return one_f_one_b_row(shape, rank);
    case ScheduleClass::forward_only: return forward_only_row(shape, rank);
    case ScheduleClass::looped_bfs: return looped_bfs_row(shape, rank);
    case ScheduleClass::interleaved_1f1b: return interleaved_row(shape, rank, false);
    case ScheduleClass::interleaved_zero_bubble: return interleaved_row(shape, rank, true);
    case ScheduleClass::zbv_zero_bubble: return zbv_row(shape, rank);
    case ScheduleClass::dual_pipe_v: return dual_pipe_v_row(shape, rank);
  }
  return {};
}

}  // namespace

Rows compute_order(ScheduleClass schedule, const ScheduleShape& shape) {
  validate_shape(schedule, shape);
  // A single-stage schedule has a rank for each stage.
  std::int64_t row_count = is_single_stage(schedule) ? shape.stages() : shape.ranks;
  Rows rows;
  for (std::int64_t rank = 0; rank < row_count; ++rank)
    rows.push_back(row_of(schedule, shape, rank));
  return schedule == ScheduleClass::interleaved_zero_bubble ? delay_forwards(rows) : rows;
}

}  // namespace simmesh::pipeline
