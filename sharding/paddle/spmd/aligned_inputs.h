#pragma once

#include <vector>

#include "sharding/paddle/spmd/spmd_call.h"

namespace simmesh::paddle {

// aligned_inputs gives the tensors of the call's first list one layout, which may cut only some
// dims. A mesh dim on which all agree stays: a cut of a dim that may be cut, a partial sum or
// average. For every other mesh dim, first to last, it takes the cheapest tensor dim of those that
// no mesh dim cuts yet; the cost is the number of elements that tensors without that cut move
// (smallest dim where equal). A dim is no candidate where it is smaller than the mesh dim in any
// tensor. Empty tensors don't count. The tensors have the same number of dims.
std::vector<DistAttr> aligned_inputs(const SpmdCall& call, const std::vector<bool>& may_cut);

// first_nonempty returns the index of the first tensor of the call's first list that isn't empty; 0
// where all are. Raises a ValueError where the list is empty.
std::size_t first_nonempty(const SpmdCall& call);

}  // namespace simmesh::paddle
