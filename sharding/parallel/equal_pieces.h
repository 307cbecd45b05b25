#pragma once

#include "core/tensor/tensor.h"
#include "mesh/device_mesh.h"
#include "sharding/placement/placement.h"

namespace simmesh {

// check_equal_pieces compares a plain piece, which a module on a mesh of one dim takes for this
// rank's shard of a tensor, with those that other ranks have handed to the same call: from pieces
// alone the shape of the whole is only known where all are equal. Nothing is communicated, for the
// ranks are in one process. Raises a RuntimeError on the first rank whose piece is another one.
void check_equal_pieces(const Tensor& piece, const DeviceMesh& mesh, const Placement& shard);

}  // namespace simmesh
