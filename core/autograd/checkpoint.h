#pragma once

#include <functional>
#include <gsl/span>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh {

// CheckpointedFunction is a part of a forward pass that can be run again.
using CheckpointedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

// CheckpointOptions says how activations are dropped and computed again, with PyTorch's two ways.
struct CheckpointOptions {
  // reentrant runs the function without the tape, and in backward again with it, followed by a
  // backward pass of its own. The other way records as usual but drops all that is saved: the first
  // access to a saved tensor runs the function again.
  bool reentrant = false;
  // early_stop ends the second run as soon as it has saved everything again.
  bool early_stop = true;
};

// checkpoint_activations, which is PyTorch's checkpoint, runs a function, and computes its
// intermediate results again in backward instead of keeping them. The function must compute the
// same both times. Raises a RuntimeError in backward where the second run saves less than the
// first.
std::vector<Tensor> checkpoint_activations(const CheckpointedFunction& function,
                                           const std::vector<Tensor>& inputs,
                                           const CheckpointOptions& options = {});

}  // namespace simmesh
