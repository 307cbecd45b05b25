#include <algorithm>

#include "pipeline/schedule/rank_orders.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

Row with_reduction(Row row, std::int64_t stage) {
  row.push_back({.stage = stage, .kind = reduce_grad});
  row.push_back({.stage = stage, .kind = wait_reduce_grad});
  return row;
}

}  // namespace

Row forward_only_row(const ScheduleShape& shape, std::int64_t rank) {
  Row row;
  for (std::int64_t i = 0; i < shape.microbatches; ++i) row.push_back({rank, forward, i});
  return row;
}

Row gpipe_row(const ScheduleShape& shape, std::int64_t rank) {
  Row row = forward_only_row(shape, rank);
  for (std::int64_t i = 0; i < shape.microbatches; ++i) row.push_back({rank, full_backward, i});
  return with_reduction(std::move(row), rank);
}

Row one_f_one_b_row(const ScheduleShape& shape, std::int64_t rank) {
  std::int64_t warm_up = std::min(shape.microbatches, shape.stages() - rank);
  Row row;
  for (std::int64_t i = 0; i < warm_up; ++i) row.push_back({rank, forward, i});
  for (std::int64_t i = 0; i < shape.microbatches; ++i) {
    row.push_back({rank, full_backward, i});
    if (warm_up + i < shape.microbatches) row.push_back({rank, forward, warm_up + i});
  }
  return with_reduction(std::move(row), rank);
}

}  // namespace simmesh::pipeline
