#include "sharding/validate/crafted_inputs.h"

#include "sharding/validate/crafted_pieces.h"

namespace simmesh {

const std::vector<Tensor>& CraftedInputs::pieces(std::size_t input, const Placements& placements) {
  static const std::vector<Tensor> none;
  if (!call_.inputs[input].is_defined()) return none;
  std::pair<std::size_t, Placements> key(input, placements);
  auto known = known_.find(key);
  if (known == known_.end()) known = known_.emplace(std::move(key), craft(input, placements)).first;
  return known->second;
}

// Begins with the pieces along the mesh dims before the last one, which other placements share.
std::vector<Tensor> CraftedInputs::craft(std::size_t input, const Placements& placements) {
  const Tensor& whole = call_.inputs[input];
  std::uint64_t seed = seed_ * 16 + input;
  std::vector<Tensor> outer = {whole};
  std::size_t dim = placements.size() - 1;
  if (dim > 0) outer = pieces(input, Placements(placements.begin(), placements.end() - 1));
  std::vector<Tensor> crafted;
  for (std::size_t i = 0; i < outer.size(); ++i)
    for (Tensor& piece :
         pieces_along(outer[i], placements[dim], mesh_shape_[dim], seed_along(seed, i, dim)))
      crafted.push_back(results_ ? results_->shared(std::move(piece)) : std::move(piece));
  return crafted;
}

std::vector<const std::vector<Tensor>*> CraftedInputs::of(const MeshPlacements& placements) {
  std::vector<const std::vector<Tensor>*> all;
  for (std::size_t i = 0; i < call_.inputs.size(); ++i)
    all.push_back(
        &pieces(i, placements.inputs[i].value_or(Placements(mesh_shape_.size(), Replicate()))));
  return all;
}

}  // namespace simmesh
