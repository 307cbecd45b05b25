#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/fibers/stack_arena.h"
#include "core/engine/options/world_options.h"
#include "core/engine/seats/seat.h"
#include "core/memory/physical_memory.h"
#include "core/trace/trace.h"

namespace simmesh {

// RunResources are the parts that a World keeps from run to run because they are expensive to make.
// All else belongs to a Run and is gone with it, so no run can see anything of an earlier one. Each
// run begins with an empty trace and no seats, and only finds room for them.
struct RunResources {
  explicit RunResources(const WorldOptions& options);

  boost::intrusive_ptr<PhysicalMemory> memory;
  std::unique_ptr<StackArena> stacks;  // of fibers; null where ranks are threads
  Trace trace;
  std::vector<Seat> seats;
  std::string reproduce_line;
};

}  // namespace simmesh
