#pragma once

#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// add_wait_send adds a wait for every send. A forward send is waited for after the local B or I of
// the micro-batch, since the other rank has used the activation by then; all others at the end of
// the row, in order of the sends. Raises an AssertionError for a send that occurs twice or names no
// micro-batch.
Rows add_wait_send(const Rows& rows);

// validate_send_waits raises a ValueError unless each send occurs once and is followed by just one
// wait for it.
void validate_send_waits(const Rows& rows);

}  // namespace simmesh::pipeline
