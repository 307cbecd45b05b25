#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/json_value.h"

namespace simmesh::checkpoint {

// StoredObject is a value of a checkpoint that is no tensor: a step, a name, a learning rate.
struct StoredObject {
  std::string name;
  JsonValue value;
  // Where it stands in the nested dict that was flattened; a list's positions are integers.
  std::vector<JsonValue> path;
};

}  // namespace simmesh::checkpoint
