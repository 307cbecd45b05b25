#pragma once

#include <string>

#include "core/tensor/tensor.h"
#include "sharding/placement/placement.h"

namespace simmesh {

class KnownResults;

// JoinedPieces are the pieces of the ranks of a mesh, row-major, of a tensor that is claimed to
// have the placements.
struct JoinedPieces {
  gsl::span<const Tensor> pieces;
  gsl::span<const Tensor> masks = {};  // of a MaskPartial: which rows don't count
  PlacementSpan placements;
  DimSpan mesh_shape;
  KnownResults* known = nullptr;  // in which reductions are looked up
};

// what_differs returns in words the difference between the whole tensor and the pieces, put
// together by their placements; empty where the bits are equal. All copies of a replicated tensor
// are compared. A zero may have another sign, and a NaN other bits. A partial norm is rounded on
// each rank and once more: it may be off by 4 units in the last place a rank.
std::string what_differs(const JoinedPieces& joined, const Tensor& whole);

// same_elements compares shape, dtype and elements. Zeros of either sign are equal, and all NaNs
// are.
bool same_elements(const Tensor& a, const Tensor& b);

// reduced_pieces returns the reduction of the pieces along one mesh dim, which have one shape. In a
// scope of KeepUnrounded in exact arithmetic, sums are rounded once.
Tensor reduced_pieces(gsl::span<const Tensor> pieces, ReduceOp op);

}  // namespace simmesh
