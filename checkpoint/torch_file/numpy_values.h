#pragma once

#include <optional>

#include "checkpoint/torch_file/library_values.h"

namespace simmesh::checkpoint {

// numpy_value returns a scalar of NumPy as a number or text, and an array under the tag $array with
// its dtype, its shape and its elements in row-major order. Elements that are neither numbers nor
// texts nor objects are bytes. Returns nullopt for objects of other classes, and for arrays whose
// bytes don't fit their shape.
std::optional<JsonValue> numpy_value(PickleValue object, const MakeValue& make);

}  // namespace simmesh::checkpoint
