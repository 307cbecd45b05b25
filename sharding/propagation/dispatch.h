#pragma once

#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// dispatch runs an op on distributed tensors: it brings the inputs to where the op's strategy wants
// them, runs the op on the rank's pieces, and returns distributed outputs. Not recorded on the
// tape, for the call is.
//
// A plain tensor of one element counts as replicated; any other beside a distributed one is refused
// with a RuntimeError, unless ImplicitReplication is on. Raises a RuntimeError for tensors on
// different meshes, and what propagate raises. On a rank outside the mesh the outputs are empty.
std::vector<Tensor> dispatch(const OpCall& call);

}  // namespace simmesh
