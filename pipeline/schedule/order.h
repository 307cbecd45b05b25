#pragma once

#include "pipeline/schedule/row.h"
#include "pipeline/schedule/schedule_class.h"

namespace simmesh::pipeline {

// compute_order returns the compute actions of every rank, as the constructor of the schedule makes
// them, with the idle slots in which a rank waits for others. A single-stage schedule has none of
// these; GPipe and 1F1B end with REDUCE_GRAD and WAIT_REDUCE_GRAD. Raises as validate_shape does.
//
//   pipeline::Rows rows = pipeline::compute_order(pipeline::ScheduleClass::gpipe,
//                                                 {.ranks = 2, .microbatches = 2});
//   to_string(rows[1]);  // 1F0,1F1,1B0,1B1,1REDUCE_GRAD,1WAIT_REDUCE_GRAD
//
// PyTorch's own compute order of 1F1B begins with micro-batch 1 on the last rank and ends with one
// that doesn't exist; this one is what its step function does.
Rows compute_order(ScheduleClass schedule, const ScheduleShape& shape);

}  // namespace simmesh::pipeline
