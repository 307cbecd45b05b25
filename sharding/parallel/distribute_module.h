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
// distributed yet by a replicated one of the values that every rank has.
void replicate_parameters(nn::Module& module, const DeviceMesh& mesh);

// TensorLayout says how an input or output lies: the placement that a plain tensor is taken to
// have, and the one that it is brought to, where that is another.
struct TensorLayout {
  Placement from;
  std::optional<Placement> to = {};
};

// laid_out returns a tensor as a distributed one on a mesh of one dim: a plain tensor is the rank's
// piece of one that lies at `from`; the pieces of all ranks have one size. Raises what from_local
// and redistribute throw.
Tensor laid_out(const Tensor& tensor, const DeviceMesh& mesh, const TensorLayout& layout);

// add_layouts lets a module get its first input laid out as `input` says, and hand out its first
// output laid out at `output`, as the rank's piece where is_local says so.
struct ModuleLayouts {
  TensorLayout input;
  Placement output;
  bool is_local = true;
};
void add_layouts(nn::Module& module, const DeviceMesh& mesh, const ModuleLayouts& layouts);

// piece_of returns the rank's piece of a tensor that is distributed; gradients come back.
Tensor piece_of(const Tensor& tensor);

}  // namespace simmesh
