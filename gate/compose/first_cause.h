#pragma once

#include <cstdint>
#include <string>

#include "gate/compose/layouts.h"
#include "gate/run_options.h"
#include "training/run_record.h"

namespace simmesh {

// FirstCause is a layout whose results differ from those of one device.
struct FirstCause {
  const GateFile& gate;
  const GateRunOptions& options;
  const ComposeLayout& layout;
  double gradient_factor = 1.0;  // of an injected fault
  std::int64_t rank = 0;         // whose results differ
  const RunRecord& one_device;
};

// first_cause runs the layout again and says where its results first differ, in the order in which
// they are computed:
// - the module whose output differs first, where a loss differs: "output of block0.mlp, call 0: .."
// An output that a rank has only some columns of isn't compared;
// - else the gradient that a backward pass gives first: "gradient of head.weight in step 0, 2 times
// that of one device; 13 of 13 gradients differ";
// - else the norm, a parameter after a step, or the optimiser's state.
std::string first_cause(const FirstCause& cause);

}  // namespace simmesh
