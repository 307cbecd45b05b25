#pragma once

#include <optional>
#include <vector>

#include "core/nn/module.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// Layouts has one entry an input or output; an empty one is left alone.
using Layouts = std::vector<std::optional<Placement>>;

// PrepareModuleInput redistributes a module's inputs before it runs: a plain one is the rank's
// piece of a tensor with the placement in input_layouts. use_local_output passes the rank's pieces
// to the module as plain tensors.
//
// Calling the module raises a ValueError where it gets another number of inputs.
struct PrepareModuleInput {
  Layouts input_layouts;
  Layouts desired_input_layouts;
  bool use_local_output = false;

  // apply raises an AssertionError for lists of unequal length.
  void apply(nn::Module& module, const DeviceMesh& mesh) const;
};

// PrepareModuleOutput does the same with a module's outputs after it ran.
struct PrepareModuleOutput {
  Layouts output_layouts;
  Layouts desired_output_layouts;
  bool use_local_output = true;

  // apply raises an AssertionError for lists of unequal length.
  void apply(nn::Module& module, const DeviceMesh& mesh) const;
};

// PrepareModuleInputOutput does both.
struct PrepareModuleInputOutput {
  PrepareModuleInput input;
  PrepareModuleOutput output;

  // apply applies both, and raises as they do.
  void apply(nn::Module& module, const DeviceMesh& mesh) const;
};

}  // namespace simmesh
