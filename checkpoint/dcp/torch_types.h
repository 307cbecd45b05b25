#pragma once

#include <optional>
#include <string_view>

#include "checkpoint/stored_dtype.h"

namespace simmesh::checkpoint {

// torch_dtype_name returns what a type is called in a pickle: "float32" of "torch.float32";
// torch_storage_name the class of storages of it: "FloatStorage". Empty for a type that PyTorch
// writes in another way.
std::string_view torch_dtype_name(StoredDType dtype);
std::string_view torch_storage_name(StoredDType dtype);

// Their inverses; nullopt for other names.
std::optional<StoredDType> find_torch_dtype(std::string_view name);
std::optional<StoredDType> find_torch_storage(std::string_view name);

}  // namespace simmesh::checkpoint
