#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/torch_file/pickle.h"
#include "core/check/json_value.h"

namespace simmesh::checkpoint {

// MakeValue makes JSON of a part of a value.
using MakeValue = std::function<JsonValue(PickleValue part)>;

// library_value returns an object of Python's library or of PyTorch as JSON: complex, range, slice,
// dates, times, paths, Decimal, Fraction, files in memory, devices, sizes, enums that are named.
// Returns nullopt for an object of another class, and for arguments that the class doesn't take.
std::optional<JsonValue> library_value(PickleValue object, const MakeValue& make);

// library_global returns the text for a dtype of PyTorch, "torch.bfloat16"; nullopt for other names
// of classes and functions.
std::optional<std::string> library_global(std::string_view name);

}  // namespace simmesh::checkpoint
