#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_chunk returns the row-major bytes of one chunk of a checkpoint that lies in a folder of a
// store. Raises a ValueError that names the file where they don't have the chunk's shape and dtype.
std::vector<std::byte> read_chunk(const Store& store, const std::string& folder,
                                  const StoredTensor& tensor, const StoredChunk& chunk);

// read_tensor returns the row-major bytes of a whole tensor.
std::vector<std::byte> read_tensor(const Store& store, const std::string& folder,
                                   const StoredTensor& tensor);

}  // namespace simmesh::checkpoint
