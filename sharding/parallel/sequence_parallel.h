#pragma once

#include "core/nn/module.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// SequenceParallel runs a module with few parameters, such as a normalisation or dropout, on inputs
// that are split along the sequence (Korthikanti et al. 2022): its parameters are replicated, and
// their gradients are partial sums over the ranks.
//
// A plain input is the rank's piece of a tensor that is split along sequence_dim; a distributed one
// is redistributed to that. Calling the module raises a RuntimeError where the ranks' plain inputs
// have different shapes. The output keeps the placements that the module gives it; use_local_output
// returns the rank's piece as a plain tensor.
struct SequenceParallel {
  std::int64_t sequence_dim = 1;
  bool use_local_output = false;

  // apply gives a module the style on a mesh of one dim. All its ranks call it.
  void apply(nn::Module& module, const DeviceMesh& mesh) const;
};

}  // namespace simmesh
