#pragma once

#include "checkpoint/torch_file/pickle.h"
#include "core/check/json_value.h"

namespace simmesh::checkpoint {

// json_of returns a value of numbers, texts, lists, tuples and dicts with text keys as JSON. Raises
// a ValueError for any other value, for a value that is part of itself, and for one that would be
// much larger than its pickle.
JsonValue json_of(PickleValue value);

}  // namespace simmesh::checkpoint
