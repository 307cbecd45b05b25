#pragma once

#include "core/engine/ranks/local_state.h"

namespace simmesh {

class Arithmetic;

// ComputeMode is the mode in which a rank computes: whether ops are recorded on the tape, and how
// sums are added. Each rank has its own; outside any World each thread has one.
struct ComputeMode {
  bool grad_enabled = true;
  const Arithmetic* arithmetic = nullptr;  // null: the World's, canonical outside
  bool keeps_unrounded = false;            // see KeepUnrounded
};

// compute_mode returns the mode of the rank that runs, or of the thread outside any World.
inline ComputeMode& compute_mode() { return local_state<ComputeMode>(); }

// grad_enabled is true if ops are recorded on the tape.
inline bool grad_enabled() { return compute_mode().grad_enabled; }

}  // namespace simmesh
