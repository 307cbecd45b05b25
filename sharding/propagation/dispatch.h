#pragma once

#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// dispatch runs an op on distributed tensors: it redistributes the inputs as the op's strategy
// needs, runs the op on the rank's pieces, and returns distributed outputs. Nothing is recorded on
// the tape, since the call itself is.
//
// A plain tensor of one element counts as replicated; any other plain tensor beside a distributed
// one is refused with a RuntimeError, unless ImplicitReplication is on. Raises a RuntimeError for
// tensors on different meshes, and as propagate does. On a rank outside the mesh the outputs are
// empty.
std::vector<Tensor> dispatch(const OpCall& call);

}  // namespace simmesh
