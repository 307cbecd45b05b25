#pragma once

#include <functional>
#include <utility>

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

}  // namespace simmesh
