#pragma once

#include "core/tensor/attachment.h"

namespace simmesh {

// op_views returns the views that run the op of their name, for tensors that are recorded on the
// tape or cut over a mesh.
const AttachedViews& op_views();

}  // namespace simmesh
