#include "sharding/validate/crafted_inputs.h"

#include "core/check/fold_hash.h"
#include "sharding/validate/crafted_pieces.h"

namespace simmesh {

std::size_t CraftedInputs::HashOfPlacements::operator()(const Placements& placements) const {
  FoldHash hash;
  for (const Placement& placement : placements) hash.fold(hash_value(placement));
  return std::size_t(hash.value());
}

const std::vector<Tensor>& CraftedInputs::pieces(std::size_t input, const Placements& placements) {
  static const std::vector<Tensor> none;
  if (!wholes_[input].is_defined()) return none;
  auto& known = known_[input];
  auto found = known.find(placements);
  if (found == known.end()) found = known.emplace(placements, craft(input, placements)).first;
  return found->second;
}

// Cuts what the list has without its last cut. A partial list is crafted on whole tensors, so that
// cuts of one operand have equal bits wherever they stand in a list, and equal copies are made of
// equal operands.
std::vector<Tensor> CraftedInputs::craft(std::size_t input, const Placements& placements) {
  std::optional<std::size_t> cut, reduced;
  for (std::size_t dim = 0; dim < placements.size(); ++dim) {
    if (placements[dim].splits()) cut = dim;
    if (placements[dim].is_partial()) reduced = dim;
  }
  std::size_t ranks = std::size_t(numel(mesh_shape_));
  if (!cut && !reduced) return std::vector<Tensor>(ranks, wholes_[input]);
  std::size_t dim = cut ? *cut : *reduced;
  Placements outer = placements;
  outer[dim] = Replicate();
  return along(pieces(input, outer), placements, dim, seed_ * 16 + input);
}

std::vector<Tensor> CraftedInputs::along(const std::vector<Tensor>& outer,
                                         const Placements& placements, std::size_t dim,
                                         std::uint64_t seed) {
  std::size_t level = 0, inner = 1;
  for (std::size_t i = 0; i < dim; ++i) level += placements[i].is_partial();
  for (std::size_t i = dim + 1; i < mesh_shape_.size(); ++i) inner *= std::size_t(mesh_shape_[i]);
  std::vector<Tensor> distinct, crafted;
  std::vector<std::vector<Tensor>> pieces;
  for (std::size_t rank = 0; rank < outer.size(); ++rank) {
    std::size_t known = 0;
    while (known < distinct.size() && !is_one_view(distinct[known], outer[rank])) ++known;
    if (known == distinct.size()) {
      distinct.push_back(outer[rank]);
      pieces.push_back(pieces_along(outer[rank], placements[dim], mesh_shape_[dim],
                                    seed_along(seed, known, level)));
      if (results_)
        for (Tensor& piece : pieces.back()) piece = results_->shared(std::move(piece));
    }
    crafted.push_back(pieces[known][rank / inner % std::size_t(mesh_shape_[dim])]);
  }
  return crafted;
}

std::vector<const std::vector<Tensor>*> CraftedInputs::of(const MeshPlacements& placements) {
  std::vector<const std::vector<Tensor>*> all;
  all.reserve(wholes_.size());
  for (std::size_t i = 0; i < wholes_.size(); ++i)
    all.push_back(&pieces(i, placements.inputs[i] ? *placements.inputs[i] : replicated_));
  return all;
}

}  // namespace simmesh
