#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/mapping/statement.h"
#include "checkpoint/mapping/stored_shape.h"

namespace simmesh::checkpoint {

// expanded returns a statement without macros: once for each layer that "$LAYER_ID" stands for, and
// with all names that "*" stands for. Raises a ValueError if no stored name fits.
std::vector<Statement> expanded(const Statement& statement,
                                const std::map<std::string, StoredShape>& stored);

}  // namespace simmesh::checkpoint
