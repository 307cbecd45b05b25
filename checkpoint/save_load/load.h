#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/save_load/load_report.h"

namespace simmesh::checkpoint {

// LoadOptions say what is loaded, and what may be missing.
struct LoadOptions {
  // Mapping statements; see Statement. Names of the state dict are those on the right.
  std::vector<std::string> mapping = {};
  // Names of the state dict that the checkpoint doesn't have keep what they have; names of the
  // checkpoint that the state dict doesn't have are left there. Else both are errors.
  bool allow_missing = false;
  bool allow_unexpected = false;
  // Whether ranks may read just their own files where nothing has changed; see LoadWay.
  bool uses_local = true;
};

// load fills the tensors of a state dict from a checkpoint of any format, whatever the layout under
// which it was saved: every rank of the world calls it, with the same names or those of which it
// has a part. Each rank gets the boxes it holds; each stored byte is read at most once. Values that
// are no tensors replace those of the state dict, and go to their on_load. Where the checkpoint has
// a parameter's master and the state dict the parameter, or the other way round, one is made from
// the other (see master_statements), unless a mapping is given.
//
// Before anything is loaded, all names are compared: a KeyError lists every name that is missing or
// unexpected, and every tensor of another shape or dtype. Raises a ValueError that names file,
// tensor and bytes for what isn't what was saved; the tensors then hold anything.
LoadReport load(StateDict& state, const Location& location, const LoadOptions& options = {});
LoadReport load(StateDict&& state, const Location& location, const LoadOptions& options = {});

}  // namespace simmesh::checkpoint
