#pragma once

#include <cstdint>
#include <functional>

#include "core/engine/spread/processes.h"

namespace simmesh {

// run_in_processes calls `work` in so many processes of this machine, over which it spreads the
// worlds that run there, and returns its status. In all processes but this one standard output
// leads nowhere, and the program ends there. Raises the error of `work`, with the number of its
// process if not all have it, and ProcessLost if another process has ended.
int run_in_processes(std::int64_t count, const std::function<int()>& work);

// run_spread_over does the same over processes that there are already; on all but process 0 it
// returns 2 in place of an error.
int run_spread_over(Processes& processes, const std::function<int()>& work);

}  // namespace simmesh
