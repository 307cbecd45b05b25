#pragma once

#include <string>
#include <vector>

#include "core/nn/module.h"
#include "zero/config/config.h"

namespace simmesh::zero {

// A leaf module is fetched as one in stage 3: all parameters below it together, and no module below
// it by itself. Mixtures of experts need that, because their routes would change the trace. Modules
// are marked before an engine is made.

// set_z3_leaf_module marks one module, or with `leaf` false removes the mark; z3_leaf_module is
// true for a marked module.
void set_z3_leaf_module(nn::Module& module, bool leaf = true);
bool z3_leaf_module(const nn::Module& module);

// set_z3_leaf_modules marks the modules below a root, and the root, that a LeafModule names, and
// returns them. The class of a module is its C++ class, with or without namespaces. Raises a
// ValueError for a name that matches nothing.
std::vector<nn::Module*> set_z3_leaf_modules(nn::Module& root, const LeafModule& which);

// set_z3_leaf_modules_by_granularity marks the outermost modules whose elements, divided by 1 + the
// number of modules with parameters below them, are at most the threshold. Modules of more than 1e9
// elements, modules without children and those that only hold others (ModuleList, Sequential) are
// never marked. Returns the marked ones. A threshold of 0 marks none.
std::vector<nn::Module*> set_z3_leaf_modules_by_granularity(nn::Module& root,
                                                            std::int64_t threshold);

}  // namespace simmesh::zero
