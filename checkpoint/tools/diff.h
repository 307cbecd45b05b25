#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"

namespace simmesh::checkpoint {

// Difference is one name in which two checkpoints differ.
struct Difference {
  std::string name;
  std::string text;  // "only in the first", "float32[2] there, float32[3] here", ...
};

// diff compares two checkpoints of any formats and layouts, name by name and bit for bit. Returns
// the names that differ, in order.
std::vector<Difference> diff(const Location& first, const Location& second);

}  // namespace simmesh::checkpoint
