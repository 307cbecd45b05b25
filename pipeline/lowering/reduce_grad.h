#pragma once

#include <cstdint>

#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// add_reduce_grad reduces the gradients of a stage after its last backward, the microbatches-th B
// or W: REDUCE_GRAD and WAIT_REDUCE_GRAD. With defers_wait the wait comes before the next reduction
// or at the end, so at most one is under way on a rank. Idle slots vanish.
Row add_reduce_grad(const Row& row, std::int64_t microbatches, bool defers_wait = false);

// validate_reductions raises a ValueError where a REDUCE_GRAD isn't followed by its
// WAIT_REDUCE_GRAD before the next one. `rank` is named by the error.
void validate_reductions(const Row& row, std::int64_t rank);

}  // namespace simmesh::pipeline
