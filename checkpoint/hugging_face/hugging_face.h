#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// The file that says in which file of a folder each tensor lies.
inline constexpr const char* safetensors_index_file = "model.safetensors.index.json";

// read_hugging_face returns what the safetensors files of a folder hold: whole tensors, as Hugging
// Face stores models, or the boxes of ranks, whose place each file tells in its metadata, as
// torch.distributed.checkpoint writes them. A tensor's shape is what its boxes reach. With an index
// file, just the files that it names count, and each tensor must lie where it says. Raises a
// ValueError that names the file.
Catalog read_hugging_face(const Store& store, const std::string& folder);

// read_safetensors returns what one file holds, of whole tensors. Its text metadata become objects.
Catalog read_safetensors(const Store& store, const std::string& file);

}  // namespace simmesh::checkpoint
