#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// The index file, which names the file of each tensor of a folder.
inline constexpr const char* safetensors_index_file = "model.safetensors.index.json";

// read_hugging_face returns the catalog of the safetensors files of a folder: whole tensors, as
// Hugging Face stores models, or boxes of ranks, as torch.distributed.checkpoint writes them, with
// their offsets in each file's metadata. A tensor's shape is the extent of its boxes. With an index
// file only the files that it names count, and each tensor must be in the file that it names.
// Raises a ValueError that names the file.
Catalog read_hugging_face(const Store& store, const std::string& folder);

// copy_problems returns a sentence for each box of a folder that several files have with different
// bytes.
std::vector<std::string> copy_problems(const Store& store, const std::string& folder);

// read_safetensors returns the catalog of one file of whole tensors. Its text metadata become
// objects.
Catalog read_safetensors(const Store& store, const std::string& file);

}  // namespace simmesh::checkpoint
