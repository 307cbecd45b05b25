#pragma once

#include <string>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/torch_file/torch_file.h"

namespace simmesh::checkpoint {

// has_torch_views is true if a value is a tensor, or holds one in a list, a dict or an object.
bool has_torch_views(PickleValue value);

// add_values adds a value of a file to a catalog: its tensors, and what else it has as values. A
// container with tensors becomes its entries, with the names of their places: "model.fc.weight",
// "optimizer.state.0.exp_avg". A saved module has the names of its state_dict. A tensor that isn't
// read, such as a quantised one, is a value with the reason. `file_name` is the file's in the
// catalog.
void add_values(Catalog& catalog, const TorchFile& file, const std::string& file_name,
                PickleValue value, const std::string& name);

}  // namespace simmesh::checkpoint
