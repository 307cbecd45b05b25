#pragma once

#include "core/nn/module.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// ColwiseParallel splits a Linear layer, or an Embedding, by columns: each rank computes its own
// columns of the output from the whole input. Weight [out, in] and bias are split along out; an
// Embedding's weight along its width.
//
// A plain input counts as a piece of a tensor with input_layout (replicated by default); it is
// gathered where it is split. The output is split along its last dim, or redistributed to
// output_layout; use_local_output returns the rank's piece as a plain tensor.
//
// Raises a NotImplementedError for other modules.
struct ColwiseParallel {
  Placement input_layout = Replicate();
  Placement output_layout = Shard(-1);
  bool use_local_output = true;

  // apply gives a module the style on a mesh of one dim. All its ranks call it.
  void apply(nn::Module& module, const DeviceMesh& mesh) const;
};

}  // namespace simmesh
