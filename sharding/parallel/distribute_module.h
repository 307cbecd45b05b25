#pragma once

#include <functional>
#include <optional>

#include "core/nn/module.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// distribute_parameter replaces a parameter of a module by a distributed one of these placements:
// the first rank of the mesh sends its values to the others.
void distribute_parameter(nn::Module& module, std::string_view name, const DeviceMesh& mesh,
                          const Placements& placements);

// replicate_parameters replaces each parameter of a module, and of those below it, that isn't
// distributed yet by a replicated one with the values that every rank has.
void replicate_parameters(nn::Module& module, const DeviceMesh& mesh);

// TensorLayout is the layout of an input or output: the placement that a plain tensor counts as
// having, and the one to which it is redistributed, if that differs.
struct TensorLayout {
  Placement from;
  std::optional<Placement> to = {};
};

// laid_out returns a tensor as a distributed one on a mesh of one dim. A plain tensor is the rank's
// piece of one with the placement `from`; the pieces of all ranks have one size. Raises as
// from_local and redistribute do.
Tensor laid_out(const Tensor& tensor, const DeviceMesh& mesh, const TensorLayout& layout);

// add_layouts redistributes a module's first input to the layout `input`, and its first output to
// `output`, which is returned as the rank's piece if is_local.
struct ModuleLayouts {
  TensorLayout input;
  Placement output;
  bool is_local = true;
};
void add_layouts(nn::Module& module, const DeviceMesh& mesh, const ModuleLayouts& layouts);

// piece_of returns the rank's piece of a distributed tensor; gradients flow back.
Tensor piece_of(const Tensor& tensor);

}  // namespace simmesh
