#pragma once

#include "pipeline/schedule/row.h"
#include "pipeline/schedule/stage_map.h"

namespace simmesh::pipeline {

// add_send_recv adds the messages between ranks. It takes the next action of each rank in turn,
// once the inputs are there. A result for a stage on another rank is sent right after it was made,
// and at the same moment the receive is put at the end of the other rank's row, so receives are
// posted as early as they can be. Idle slots vanish. Raises an AssertionError for a row without
// actions and for actions whose inputs never come.
Rows add_send_recv(const Rows& rows, const StageMap& map, std::int64_t stages);

}  // namespace simmesh::pipeline
