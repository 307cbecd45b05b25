#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sharding/parallel/parallel_style.h"

namespace simmesh {

// ParallelizePlan maps modules to styles, by their dotted path below the module that is
// parallelised. A part of a path may hold *, ? and [...] as file names do; the empty path is the
// module itself.
using ParallelizePlan = std::vector<std::pair<std::string, ParallelStyle>>;

// parallelize distributes the modules that a plan names over a mesh of one dim, in the order of the
// plan: PyTorch's parallelize_module.
//
//   parallelize(model, mesh["tp"], {{"blocks.*.mlp.fc1", ColwiseParallel()},
//                                   {"blocks.*.mlp.fc2", RowwiseParallel()}});
//
// Raises a ValueError for a mesh of more dims, and for a path at which there is no module; nothing
// is changed then.
void parallelize(nn::Module& module, const DeviceMesh& mesh, const ParallelizePlan& plan);
void parallelize(nn::Module& module, const DeviceMesh& mesh, const ParallelStyle& style);

// modules_at returns the modules at a path as in a plan, in order of registration.
std::vector<nn::Module*> modules_at(nn::Module& module, const std::string& path);

}  // namespace simmesh
