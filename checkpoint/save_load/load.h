#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/save_load/load_report.h"

namespace simmesh::checkpoint {

// LoadOptions are the options of a load.
struct LoadOptions {
  // Mapping statements (see Statement). The names on the right are those of the state dict.
  std::vector<std::string> mapping = {};
  // allow_missing keeps the values of names that the checkpoint doesn't have; allow_unexpected
  // ignores names that only the checkpoint has. Otherwise both are errors.
  bool allow_missing = false;
  bool allow_unexpected = false;
  // Lets ranks read only their own files if nothing has changed; see LoadWay.
  bool uses_local = true;
};

// load fills the tensors of a state dict from a checkpoint of any format, saved in any layout.
// Every rank of the world calls it, with the same names, or with those of which it has a part. Each
// rank gets the boxes that it holds, and each stored byte is read at most once. Values that are no
// tensors replace those of the state dict, and go to their on_load. If the checkpoint has the
// master of a parameter that the state dict has, or the other way round, one is made from the other
// (see master_statements), unless there is a mapping.
//
// All names are compared first. A KeyError lists every missing and every unexpected name, and every
// tensor of another shape or dtype. Raises a ValueError that names file, tensor and bytes if they
// are not what was saved; the tensors then hold anything.
LoadReport load(StateDict& state, const Location& location, const LoadOptions& options = {});
LoadReport load(StateDict&& state, const Location& location, const LoadOptions& options = {});

}  // namespace simmesh::checkpoint
