#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"

namespace simmesh::checkpoint {

// Difference is one name in which two checkpoints differ.
struct Difference {
  std::string name;
  std::string text;  // how: "only in the first", "float32[2] there, float32[3] here", ...
};

// diff compares two checkpoints, of whatever formats and layouts, name by name and bit for bit.
// Returns what differs, in the order of the names; nothing where they hold the same. Raises a
// ValueError for a location that holds no checkpoint, and for one that is broken.
std::vector<Difference> diff(const Location& first, const Location& second);

}  // namespace simmesh::checkpoint
