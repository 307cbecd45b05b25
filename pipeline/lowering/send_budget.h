#pragma once

#include "pipeline/schedule/row.h"
#include "pipeline/schedule/stage_map.h"

namespace simmesh::pipeline {

// limit_sends moves waits forward so that no rank has more than `max_outstanding` sends under way.
// Before a send that would be one too many it waits for a pending one: the oldest whose receive is
// posted by then in any order of events, or else the oldest whose receive can't be one of those
// that come after this point. Raises a ValueError where there is none, for a send without a
// receive, and as validate_send_waits does.
Rows limit_sends(const Rows& rows, const StageMap& map, std::int64_t max_outstanding);

}  // namespace simmesh::pipeline
