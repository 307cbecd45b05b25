#pragma once

#include "core/engine/arithmetic.h"
#include "gate/gate_run.h"
#include "tools/run_options.h"

namespace simmesh {

// gate_options returns the options for the worlds of a gate. The arithmetic is set only if the
// command line gives one, because the gate has its own. Throws for an unknown schedule or
// arithmetic.
inline GateRunOptions gate_options(const RunOptions& run, const CLI::App& app) {
  Schedule::parse(run.schedule);
  Arithmetic::parse(run.arithmetic);
  GateRunOptions options{.seed = run.seed, .schedule = run.schedule, .threads = run.threads};
  if (app.get_option("--arithmetic")->count() > 0) options.arithmetic = run.arithmetic;
  return options;
}

}  // namespace simmesh
