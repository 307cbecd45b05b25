#include "sharding/validate/crafted_inputs.h"

#include "sharding/validate/crafted_pieces.h"

namespace simmesh {

const std::vector<Tensor>& CraftedInputs::pieces(std::size_t input, const Placements& placements) {
  static const std::vector<Tensor> none;
  if (!call_.inputs[input].is_defined()) return none;
  auto [known, is_new] = known_.try_emplace({input, placements});
  if (is_new)
    known->second = craft_pieces(call_.inputs[input], placements, mesh_shape_, seed_ * 16 + input);
  return known->second;
}

std::vector<const std::vector<Tensor>*> CraftedInputs::of(const MeshPlacements& placements) {
  std::vector<const std::vector<Tensor>*> all;
  for (std::size_t i = 0; i < call_.inputs.size(); ++i)
    all.push_back(
        &pieces(i, placements.inputs[i].value_or(Placements(mesh_shape_.size(), Replicate()))));
  return all;
}

}  // namespace simmesh
