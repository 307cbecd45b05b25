#pragma once

#include <optional>
#include <string_view>

#include "checkpoint/catalog/stored_dtype.h"

namespace simmesh::checkpoint {

// torch_dtype_name returns the name of a dtype in a pickle: "float32" of "torch.float32"; empty if
// PyTorch doesn't have it. torch_storage_name returns the class of its storages: "FloatStorage";
// empty for newer dtypes, which have an UntypedStorage.
std::string_view torch_dtype_name(StoredDType dtype);
std::string_view torch_storage_name(StoredDType dtype);

// These are the inverses. They return nullopt for other names.
std::optional<StoredDType> find_torch_dtype(std::string_view name);
std::optional<StoredDType> find_torch_storage(std::string_view name);

}  // namespace simmesh::checkpoint
