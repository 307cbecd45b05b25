#pragma once

#include <map>
#include <optional>
#include <string>

#include "checkpoint/store/store.h"
#include "checkpoint/torch_file/pickle.h"
#include "checkpoint/torch_file/zip_directory.h"

namespace simmesh::checkpoint {

// LegacyTorchFile is a file of torch.save in the form before PyTorch 1.6: pickles of a mark, a
// version and the machine, the pickle of the value, a pickle with the keys of the storages, and the
// bytes of these, each after its number of elements.
struct LegacyTorchFile {
  Pickle value;
  std::map<std::string, ZipPlace> storages;  // by key; without checksums
};

// is_legacy_torch_file is true if a file begins with the mark.
bool is_legacy_torch_file(const Store& store, const std::string& path);

// read_legacy_torch_file reads the pickles of such a file, and the places of its storages. Raises a
// ValueError for any other file, and for a storage that is outside of the file.
LegacyTorchFile read_legacy_torch_file(const Store& store, const std::string& path);

}  // namespace simmesh::checkpoint
