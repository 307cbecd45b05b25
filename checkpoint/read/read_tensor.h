#pragma once

#include <cstddef>
#include <vector>

#include "checkpoint/format/open_checkpoint.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_chunk returns the row-major bytes of one chunk of a checkpoint in a store. Raises a
// ValueError that names the file if they don't have the chunk's shape and dtype.
std::vector<std::byte> read_chunk(const Store& store, const OpenCheckpoint& checkpoint,
                                  const StoredTensor& tensor, const StoredChunk& chunk);

// read_tensor returns the row-major bytes of a whole tensor.
std::vector<std::byte> read_tensor(const Store& store, const OpenCheckpoint& checkpoint,
                                   const StoredTensor& tensor);

}  // namespace simmesh::checkpoint
