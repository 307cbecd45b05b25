#pragma once

#include "core/nn/module.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// RowwiseParallel splits a Linear layer, or an Embedding, by rows: each rank multiplies its own
// columns of the input, and the products are added up over the ranks. Weight [out, in] is split
// along in, the bias is replicated; an Embedding's weight is split along its rows, and indices are
// replicated.
//
// A plain input counts as a piece of a tensor with input_layout (split along its last dim by
// default). The output is summed to replicated tensors, or to output_layout; use_local_output
// returns the rank's piece as a plain tensor.
//
// Raises a NotImplementedError for other modules. A call of a layer with a plain piece of another
// size than the equal pieces of all ranks is a RuntimeError.
struct RowwiseParallel {
  Placement input_layout = Shard(-1);
  Placement output_layout = Replicate();
  bool use_local_output = true;

  // apply gives a module the style on a mesh of one dim. All its ranks call it.
  void apply(nn::Module& module, const DeviceMesh& mesh) const;
};

}  // namespace simmesh
