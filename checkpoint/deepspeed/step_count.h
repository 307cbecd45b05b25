#pragma once

#include <cstdint>

#include "checkpoint/torch_file/torch_file.h"

namespace simmesh::checkpoint {

// step_count returns the number of an optimiser's steps from DeepSpeed's files, where it is a
// number or a tensor of one float32. Raises a ValueError for anything else.
std::int64_t step_count(const TorchFile& file, PickleValue step);

}  // namespace simmesh::checkpoint
