#pragma once

#include <string_view>

#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh::zero {

// record_collective tells observers of a collective of stage 3 that starts now: its name in
// PyTorch, this rank's input, and the group's ranks where the group isn't `all`.
void record_collective(std::string_view name, const Tensor& input, const ProcessGroup& group,
                       const ProcessGroup& all);

}  // namespace simmesh::zero
