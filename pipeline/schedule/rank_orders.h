#pragma once

#include "pipeline/schedule/row.h"
#include "pipeline/schedule/schedule_class.h"

namespace simmesh::pipeline {

// The rows of one rank of the single-stage schedules. The shape is known to be valid, here and
// below.
Row gpipe_row(const ScheduleShape& shape, std::int64_t rank);
Row one_f_one_b_row(const ScheduleShape& shape, std::int64_t rank);
Row forward_only_row(const ScheduleShape& shape, std::int64_t rank);

// looped_bfs_row goes through the rank's stages one by one, and back.
Row looped_bfs_row(const ScheduleShape& shape, std::int64_t rank);

// interleaved_row is that of both interleaved schedules. With splits_backward a weight gradient
// follows each input gradient after the first ones.
Row interleaved_row(const ScheduleShape& shape, std::int64_t rank, bool splits_backward);
// delay_forwards gives each row the idle slots in which a forward waits for the stage before, step
// by step over all ranks.
Rows delay_forwards(const Rows& rows);

// The rows of one rank of the two V schedules.
Row zbv_row(const ScheduleShape& shape, std::int64_t rank);
Row dual_pipe_v_row(const ScheduleShape& shape, std::int64_t rank);

}  // namespace simmesh::pipeline
