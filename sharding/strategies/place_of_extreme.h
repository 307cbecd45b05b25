#pragma once

#include <vector>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/ops/op.h"

namespace simmesh {

// identities returns a tensor of the identity of a maximum or minimum, which every other element
// beats.
Tensor identities(ReduceOp op, const Shape& shape, DType dtype);

// place_of_extreme runs argmax, for ReduceOp::max, or argmin on a distributed tensor. Each rank
// finds the place in its own piece; along each mesh dim that splits a reduced dim the ranks
// exchange values and places: two all-gathers of the size of the result. Partial values are reduced
// first.
std::vector<Tensor> place_of_extreme(const OpCall& call, ReduceOp op);

}  // namespace simmesh
