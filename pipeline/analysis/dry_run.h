#pragma once

#include "pipeline/schedule/row.h"
#include "pipeline/schedule/stage_map.h"

namespace simmesh::pipeline {

// dry_run runs rows in steps and returns them with the idle slots in which a rank waits. In a step
// each rank takes at most one action, in rank order, and sees what lower ranks did in this step;
// ranks that had to wait then look a second time. A receive waits for its send, and the wait for a
// send for its receive. Idle slots of the rows don't count. Raises a ValueError if no rank can go
// on, and for UNSHARD, RESHARD, REDUCE_GRAD and its wait, and a compound action with parts.
Rows dry_run(const Rows& rows, const StageMap& map, std::int64_t stages);

// step_count returns the number of steps of a dry run: the length of its longest row.
std::int64_t step_count(const Rows& rows);

}  // namespace simmesh::pipeline
