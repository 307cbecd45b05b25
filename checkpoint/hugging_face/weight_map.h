#pragma once

#include <map>
#include <string>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_weight_map returns the file of each tensor of a folder, as an index file of Hugging Face
// names it. Raises a ValueError that names the index file if it has no object weight_map with the
// names of files in the folder.
std::map<std::string, std::string> read_weight_map(const Store& store, const std::string& folder,
                                                   const std::string& index_file);

}  // namespace simmesh::checkpoint
