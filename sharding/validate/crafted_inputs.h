#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sharding/validate/local_run.h"

namespace simmesh {

// CraftedInputs are the pieces of whole tensors, such as a call's inputs, crafted once for each
// placement. A tensor that is absent has no pieces. Operands of two tensors are crafted unlike.
// Pieces of equal bits are one tensor of the known results, if these are given: equal copies along
// a mesh dim are cut and reduced alike along the others, and each operand of a partial tensor is
// crafted as a whole and cut then.
class CraftedInputs {
 public:
  CraftedInputs(const WholeCall& call, Dims mesh_shape, std::uint64_t seed,
                KnownResults* known = nullptr)
      : CraftedInputs(call.inputs, std::move(mesh_shape), seed, known) {}
  CraftedInputs(gsl::span<const Tensor> wholes, Dims mesh_shape, std::uint64_t seed,
                KnownResults* known = nullptr)
      : wholes_(wholes),
        mesh_shape_(std::move(mesh_shape)),
        seed_(seed),
        results_(known),
        replicated_(mesh_shape_.size(), Replicate()),
        known_(wholes.size()) {}

  // pieces returns the pieces of one tensor; valid as long as the object.
  const std::vector<Tensor>& pieces(std::size_t input, const Placements& placements);

  // of returns the pieces of all inputs of a call.
  std::vector<const std::vector<Tensor>*> of(const MeshPlacements& placements);

 private:
  struct HashOfPlacements {
    std::size_t operator()(const Placements& placements) const;
  };

  std::vector<Tensor> craft(std::size_t input, const Placements& placements);
  std::vector<Tensor> along(const std::vector<Tensor>& outer, const Placements& placements,
                            std::size_t dim, std::uint64_t seed);

  gsl::span<const Tensor> wholes_;
  Dims mesh_shape_;
  std::uint64_t seed_;
  KnownResults* results_;
  Placements replicated_;
  // By input.
  std::vector<std::unordered_map<Placements, std::vector<Tensor>, HashOfPlacements>> known_;
};

}  // namespace simmesh
