#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_dcp returns what a checkpoint of torch.distributed.checkpoint holds, in its native form: a
// folder with .metadata and *.distcp files. Values that are no tensors are read, tensors are not.
// Raises a ValueError that names the file for one that is broken.
Catalog read_dcp(const Store& store, const std::string& folder);

// read_dcp_chunk reads the row-major bytes of one chunk, and checks that dtype and shape are those
// of the metadata.
std::vector<std::byte> read_dcp_chunk(const Store& store, const std::string& folder,
                                      const StoredTensor& tensor, const StoredChunk& chunk);

}  // namespace simmesh::checkpoint
