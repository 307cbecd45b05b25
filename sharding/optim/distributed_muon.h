#pragma once

#include "core/optim/matrix/torch_muon.h"

namespace simmesh {

// DistributedMuon is TorchMuon on distributed parameters as PyTorch runs it: each op of a step runs
// on the pieces, and redistributes its operands where a rule asks for it. With ns_steps products on
// the shorter side that is 3 ns_steps all-gathers, on the longer side 2 ns_steps + 1 all-reduces,
// where parts of sums are rounded before they are added up, except in exact arithmetic. OwnedSteps
// has one exchange a step instead, and the bits of one device.
//
// The direction is redistributed to the placements of the parameter at the end; PyTorch raises a
// RuntimeError there, where a cut dim leaves a rank without elements. The momentum is kept like the
// rank's piece.
class DistributedMuon final : public optim::TorchMuon {
 public:
  using TorchMuon::TorchMuon;

 private:
  void step_distributed(std::size_t index, const Tensor& gradient) override;
};

}  // namespace simmesh
