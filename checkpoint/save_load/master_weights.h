#pragma once

#include <set>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/catalog/state_dict.h"

namespace simmesh::checkpoint {

// master_statements returns the mapping statements by which parameters and their float32 masters
// stand for each other: a checkpoint of 16-bit parameters that have masters holds these alone, as
// "master.NAME", and from them "model.NAME" is rebuilt, rounded to the dtype that this rank's state
// dict has. A wanted master that isn't there is made from the parameter. Of what is wanted under
// both names nothing is rebuilt. `wanted` has the names of all ranks, so that all make statements
// for the same ones.
std::vector<std::string> master_statements(const StateDict& state,
                                           const std::set<std::string>& wanted,
                                           const Catalog& catalog);

}  // namespace simmesh::checkpoint
