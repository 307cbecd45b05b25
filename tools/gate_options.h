#pragma once

#include <cstdio>
#include <fmt/format.h>

#include "core/check/write_file.h"
#include "core/engine/arithmetic.h"
#include "gate/gate_memory.h"
#include "gate/gate_run.h"
#include "tools/run_options.h"

namespace simmesh {

// gate_options returns the options for the worlds of a gate. The arithmetic is set only if the
// command line gives one, because the gate has its own. Throws for an unknown schedule or
// arithmetic, and for a trace file that can't be written.
inline GateRunOptions gate_options(const RunOptions& run, const CLI::App& app) {
  Schedule::parse(run.schedule);
  Arithmetic::parse(run.arithmetic);
  GateRunOptions options{.seed = run.seed, .schedule = run.schedule, .threads = run.threads};
  options.release = run.followed_release();
  options.timeout_seconds = run.timeout_seconds;
  options.trace_file = run.trace_file;
  if (!run.trace_file.empty()) expect_writable(run.trace_file, "the trace");
  if (app.get_option("--arithmetic")->count() > 0) options.arithmetic = run.arithmetic;
  return options;
}

// expect_memory_of throws for a gate that needs more memory than there is, if `worlds` runs are
// made at a time, and says on standard error what a large one needs.
inline void expect_memory_of(const GateFile& gate, std::int64_t worlds) {
  constexpr std::int64_t gibi = std::int64_t(1) << 30;
  std::int64_t bytes = expect_memory(gate, worlds);
  if (bytes >= gibi)
    std::fputs(fmt::format("simmesh: {} needs about {:.1f} GiB of memory\n", gate.file,
                           double(bytes) / double(gibi))
                   .c_str(),
               stderr);
}

}  // namespace simmesh
