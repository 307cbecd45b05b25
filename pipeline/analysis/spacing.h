#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// duration_of returns the time units that a compute action takes in a picture: F, I and W one, B
// two, and a compound action three.
std::int64_t duration_of(const Action& action);

// SpacedSchedule is compute rows in time. An action of rank r starts at starts[r][i]; rows have an
// idle slot for each time unit in which a rank waits, until all ranks have begun their last action.
struct SpacedSchedule {
  struct Placed {
    Action action;
    std::int64_t begin;
    std::int64_t end;
  };

  Rows rows;
  std::vector<std::vector<Placed>> placed;  // by rank
  std::int64_t end = 0;                     // of the last action

  // idle_of returns the time units, up to the end, in which a rank doesn't compute.
  std::int64_t idle_of(std::size_t rank) const;
  // bubble returns the part of all ranks' time that is idle, between 0 and 1.
  double bubble() const;
};

// space_out starts each action as soon as its rank is free and its inputs are complete: the forward
// of the stage before; the backward of the stage after; for the last stage's backward the forward
// of the stage before it. The parts of a compound action end one after the other. Idle slots of the
// rows don't count. Raises a RuntimeError if no rank can go on, and for other actions.
//
// PyTorch's own spacing books the last actions of a rank on the one before once a rank before it
// has ended, and never runs the backward of a single stage; this one does neither.
SpacedSchedule space_out(const Rows& rows);

}  // namespace simmesh::pipeline
