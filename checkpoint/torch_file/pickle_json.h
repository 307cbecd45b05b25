#pragma once

#include "checkpoint/torch_file/pickle.h"
#include "core/check/json_value.h"

namespace simmesh::checkpoint {

// json_of returns a value as JSON, whatever its class is. Lists, tuples and sets are lists. Dates,
// times, paths, decimal numbers, dtypes and devices are texts. What else JSON doesn't have is
// tagged (checkpoint/catalog/tagged_value.h), and a part of another class is the tag $opaque with
// its name. So is a part that is nested too deeply or holds itself, and a value that would be much
// larger than its pickle.
JsonValue json_of(PickleValue value);

}  // namespace simmesh::checkpoint
