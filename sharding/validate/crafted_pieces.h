#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/op.h"
#include "core/tensor/tensor.h"
#include "sharding/placement/placement.h"

namespace simmesh {

// craft_pieces returns the pieces of each rank of a mesh, row-major, of a whole tensor with the
// placements: copies, cut pieces, and for partial placements operands that reduce to the tensor
// exactly. The operands depend on the seed, the element and the rank:
//
//   sum, avg      small numbers of units are moved between the ranks; the unit is 2520^2 or 2520 if
//                 that divides all elements, so that counts still divide the operands; else it is
//                 1, and floating operands get quarters too
//   max, min      one rank holds the element, the others less (or more)
//   product       powers of two and signs are moved between the ranks
//   band, bor, bxor   bits are moved so that no rank holds the element alone
//
// Whole tensors are of float64, float32, int64, int32 or bool, contiguous, with finite elements.
std::vector<Tensor> craft_pieces(const Tensor& whole, PlacementSpan placements, DimSpan mesh_shape,
                                 std::uint64_t seed);

// pieces_along returns the pieces of one tensor along one mesh dim; craft_pieces goes from mesh dim
// to mesh dim so, with a seed for each piece of the dims before.
std::vector<Tensor> pieces_along(const Tensor& whole, const Placement& placement,
                                 std::int64_t members, std::uint64_t seed);
std::uint64_t seed_along(std::uint64_t seed, std::size_t piece, std::size_t mesh_dim);

// piece_of returns the part of a whole tensor that a rank along one mesh dim holds under a split.
struct RankOf {
  std::int64_t members = 1;
  std::int64_t index = 0;
};
Tensor piece_of(const Tensor& whole, const Placement& split, RankOf rank);

// can_craft is true if a tensor of that type can have the placement: a partial placement must be
// defined for the dtype.
bool can_craft(const Placement& placement, DType dtype);

// can_lie is true if a tensor of that shape can have the placement: a ragged shard needs a dim 0
// that its units divide.
bool can_lie(const TensorType& type, const Placement& placement);

// ragged_candidate returns the ragged shard that is tried on a number of ranks: nothing on the
// first of them, one unit on each other.
Placement ragged_candidate(std::int64_t ranks);

}  // namespace simmesh
