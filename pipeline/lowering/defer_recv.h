#pragma once

#include "pipeline/schedule/row.h"
#include "pipeline/schedule/stage_map.h"

namespace simmesh::pipeline {

// defer_recv moves each receive to right before the action that uses it. Before a send to a higher
// rank all receives from that rank are posted, so that neither of the two waits for the other. This
// can change the order of the messages between two ranks (keeps_message_order). Raises an
// AssertionError for a receive that nothing uses.
Rows defer_recv(const Rows& rows, const StageMap& map);

}  // namespace simmesh::pipeline
