#pragma once

#include <string>

namespace simmesh::replay {

// make_folder makes a folder and those above it, where they don't exist. Raises a ValueError that
// names the folder and its content ("the execution traces") where it can't.
void make_folder(const std::string& folder, const std::string& what);

}  // namespace simmesh::replay
