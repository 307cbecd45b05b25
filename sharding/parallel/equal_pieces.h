#pragma once

#include "core/tensor/tensor.h"
#include "mesh/device_mesh.h"
#include "sharding/placement/placement.h"

namespace simmesh {

// check_equal_pieces compares a plain piece, which a module on a mesh of one dim takes for this
// rank's shard of a tensor, with the pieces of other ranks in the same call: pieces alone determine
// the shape of the whole only where all are equal. Nothing is communicated, since the ranks are in
// one process. Raises a RuntimeError on the first rank whose piece differs.
void check_equal_pieces(const Tensor& piece, const DeviceMesh& mesh, const Placement& shard);

}  // namespace simmesh
