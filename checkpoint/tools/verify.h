#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"

namespace simmesh::checkpoint {

// verify reads all of a checkpoint and returns one sentence for each problem. A sentence names the
// file and, if possible, the tensor and the bytes. In a checkpoint of simmesh's own every byte is
// compared with a hash. In other formats everything is checked that the format can tell.
std::vector<std::string> verify(const Location& location);

}  // namespace simmesh::checkpoint
