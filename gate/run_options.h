#pragma once

#include "core/engine/options/run_words.h"

namespace simmesh {

// GateRunOptions says how the worlds of a gate run. An arithmetic or a release counts instead of
// the gate's, and the trace file gets the runs that are traced.
using GateRunOptions = RunWords;

}  // namespace simmesh
