#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/module.h"
#include "mesh/device_mesh.h"

namespace simmesh {

// ParallelStyle distributes one module over the ranks of a one-dimensional mesh: it replaces
// parameters by distributed ones and adds hooks that redistribute inputs and outputs.
// ColwiseParallel, RowwiseParallel, SequenceParallel and the others convert to it; so does any type
// with a function apply(nn::Module&, const DeviceMesh&).
class ParallelStyle {
 public:
  template <class Style>
  requires requires(const Style& style, nn::Module& module, const DeviceMesh& mesh) {
    style.apply(module, mesh);
  }
  ParallelStyle(Style style)
      : apply_([style = std::move(style)](nn::Module& module, const DeviceMesh& mesh) {
          style.apply(module, mesh);
        }) {}

  void apply(nn::Module& module, const DeviceMesh& mesh) const { apply_(module, mesh); }

 private:
  std::function<void(nn::Module& module, const DeviceMesh& mesh)> apply_;
};

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
