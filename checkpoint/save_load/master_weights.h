#pragma once

#include <set>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/catalog/state_dict.h"

namespace simmesh::checkpoint {

// master_statements returns the mapping statements that make parameters from their float32 masters,
// and masters from parameters. A checkpoint of 16-bit parameters with masters has only the masters,
// as "master.NAME". "model.NAME" is rebuilt from them, rounded to the dtype of this rank's state
// dict. A wanted master that isn't stored is made from the parameter. If both names are wanted,
// nothing is rebuilt. `wanted` has the names of all ranks, so that all ranks make the same
// statements.
std::vector<std::string> master_statements(const StateDict& state,
                                           const std::set<std::string>& wanted,
                                           const Catalog& catalog);

}  // namespace simmesh::checkpoint
