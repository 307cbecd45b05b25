#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sharding/validate/local_run.h"

namespace simmesh {

// CraftedInputs are the pieces of a call's whole inputs, crafted once for each placement. An input
// that is absent has no pieces. Operands of two inputs are crafted unlike. Pieces of equal bits are
// one tensor of the known results, if these are given.
class CraftedInputs {
 public:
  CraftedInputs(const WholeCall& call, Dims mesh_shape, std::uint64_t seed,
                KnownResults* known = nullptr)
      : call_(call), mesh_shape_(std::move(mesh_shape)), seed_(seed), results_(known) {}

  // pieces returns the pieces of one input; valid as long as the object. There may be fewer
  // placements than mesh dims: then it returns the pieces along the first mesh dims.
  const std::vector<Tensor>& pieces(std::size_t input, const Placements& placements);

  // of returns the pieces of all inputs.
  std::vector<const std::vector<Tensor>*> of(const MeshPlacements& placements);

 private:
  std::vector<Tensor> craft(std::size_t input, const Placements& placements);

  const WholeCall& call_;
  Dims mesh_shape_;
  std::uint64_t seed_;
  KnownResults* results_;
  std::map<std::pair<std::size_t, Placements>, std::vector<Tensor>> known_;
};

}  // namespace simmesh
