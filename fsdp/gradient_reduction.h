#pragma once

#include <memory>
#include <utility>

namespace simmesh::fsdp {

class FSDPState;
struct StateContext;

// GradientReduction is a finalisation of backward that wasn't waited for: of which tree.
struct GradientReduction {
  const StateContext* owner;
};

// GradientReductionHandle ends a finalisation that was started with async_op. Gradients may be used
// after that. Waiting again does nothing.
class GradientReductionHandle {
 public:
  // Without a state there is nothing to wait for.
  GradientReductionHandle() = default;
  GradientReductionHandle(std::shared_ptr<FSDPState> state,
                          std::shared_ptr<GradientReduction> reduction)
      : state_(std::move(state)), reduction_(std::move(reduction)) {}

  // Raises a RuntimeError where reset_iter_state came in between.
  void wait();

 private:
  std::shared_ptr<FSDPState> state_;
  std::shared_ptr<GradientReduction> reduction_;
};

}  // namespace simmesh::fsdp
