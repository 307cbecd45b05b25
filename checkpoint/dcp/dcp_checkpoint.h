#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// read_dcp returns the catalog of a checkpoint of torch.distributed.checkpoint in its native form:
// a folder with .metadata and *.distcp files. It reads the values that are no tensors, and no
// tensors. Raises a ValueError that names the file if it is broken.
Catalog read_dcp(const Store& store, const std::string& folder);

// read_dcp_chunk returns the row-major bytes of one chunk. Raises a ValueError if dtype or shape
// aren't those of the metadata.
std::vector<std::byte> read_dcp_chunk(const Store& store, const std::string& folder,
                                      const StoredTensor& tensor, const StoredChunk& chunk);

}  // namespace simmesh::checkpoint
