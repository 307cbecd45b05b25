#include "core/engine/run/run_resources.h"

#include "core/check/repro.h"
#include "core/engine/reports/run_trace.h"
#include "core/engine/seats/thread_host.h"

namespace simmesh {

namespace {

std::unique_ptr<StackArena> stacks_of(const WorldOptions& options) {
  if (options.ranks_are_threads) return nullptr;
  return std::make_unique<StackArena>(StackArena::Options{.stacks = fibers(options),
                                                          .stack_bytes = options.stack_bytes,
                                                          .guarded = options.guard_pages});
}

std::string reproduce_line_of(const WorldOptions& options) {
  std::string line = options.thread_host ? options.thread_host->reproduce_line() : "";
  if (!line.empty()) return line;
  return to_string(Repro{options.program, options.seed, options.schedule.name()});
}

}  // namespace

RunResources::RunResources(const WorldOptions& options)
    : memory(new PhysicalMemory({.poison = options.poison})),
      stacks(stacks_of(options)),
      trace(trace_events_max(options)),
      reproduce_line(reproduce_line_of(options)) {}

}  // namespace simmesh
