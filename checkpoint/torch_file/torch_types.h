#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/stored_dtype.h"

namespace simmesh::checkpoint {

// torch_dtype_name returns what a type is called in a pickle: "float32" of "torch.float32"; empty
// for a type that PyTorch doesn't have. torch_storage_name is the class of storages of it:
// "FloatStorage"; empty for a newer type, which lies in an UntypedStorage.
std::string_view torch_dtype_name(StoredDType dtype);
std::string_view torch_storage_name(StoredDType dtype);

// Their inverses; nullopt for other names.
std::optional<StoredDType> find_torch_dtype(std::string_view name);
std::optional<StoredDType> find_torch_storage(std::string_view name);

// torch_dtype_globals returns all of them as a pickle names them: "torch.float32".
const std::vector<std::string_view>& torch_dtype_globals();

}  // namespace simmesh::checkpoint
