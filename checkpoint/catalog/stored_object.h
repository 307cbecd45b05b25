#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/json_value.h"

namespace simmesh::checkpoint {

// StoredObject is a value of a checkpoint that is no tensor, such as a step or a learning rate.
struct StoredObject {
  std::string name;
  JsonValue value;
  // Its place in the nested dict that was flattened. Positions in lists are integers.
  std::vector<JsonValue> path;
};

}  // namespace simmesh::checkpoint
