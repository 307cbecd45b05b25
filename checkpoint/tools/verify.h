#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"

namespace simmesh::checkpoint {

// verify reads all of a checkpoint and returns what is wrong with it, one sentence each, which
// names the file, and the tensor and the bytes where it can: none for a checkpoint that is whole.
// In one of ours every byte is compared with a hash; in others what their formats can tell is
// checked.
std::vector<std::string> verify(const Location& location);

}  // namespace simmesh::checkpoint
