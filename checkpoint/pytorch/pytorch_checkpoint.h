#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// The index of a model in several files of torch.save, as Hugging Face writes it.
inline constexpr const char* pytorch_index_file = "pytorch_model.bin.index.json";

// pytorch_files returns the files of torch.save that make a checkpoint in a folder: those of the
// index file, or pytorch_model*.bin, or one file *.pt, *.pth, *.bin or *.ckpt. They are relative to
// the folder. Returns none if there is no such file. Raises a ValueError where there are several
// and no index.
std::vector<std::string> pytorch_files(const Store& store, const std::string& folder);

// read_pytorch returns the catalog of files of torch.save, in either of its forms: the names of a
// state dict, or of the place of each tensor in the saved value (torch_file/flat_values.h). Raises
// a ValueError that names the file if it is broken, or if the index disagrees with it.
Catalog read_pytorch(const Store& store, const std::string& folder,
                     const std::vector<std::string>& files);

// read_pytorch_file returns the catalog of one file, whatever its name is.
Catalog read_pytorch_file(const Store& store, const std::string& folder, const std::string& file);

}  // namespace simmesh::checkpoint
