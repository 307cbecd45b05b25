#pragma once

#include "pipeline/schedule/row.h"
#include "pipeline/schedule/stage_map.h"

namespace simmesh::pipeline {

// ScheduleSize is what a schedule that is given as rows must be made for.
struct ScheduleSize {
  std::int64_t ranks;
  std::int64_t stages;
  std::int64_t microbatches;
};

// validate_rows returns the rank of each stage, which is the one whose row names it. Raises an
// AssertionError unless there is a row for each rank, each stage is on one rank, runs F for all
// micro-batches, and B, or I and W, for all of them too, each B and I after its F and each W after
// its I. Raises a KeyError for a stage that doesn't exist.
StageMap validate_rows(const Rows& rows, const ScheduleSize& size);

}  // namespace simmesh::pipeline
