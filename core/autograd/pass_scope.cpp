#include "core/autograd/pass_scope.h"

#include "core/engine/ranks/local_state.h"

namespace simmesh {

BackwardPasses& backward_passes() { return local_state<BackwardPasses>(); }

PassScope::PassScope() : passes_(backward_passes()) {
  passes_.running.push_back({passes_.next++, {}});
}

void PassScope::run_callbacks() {
  for (std::size_t i = 0; i < passes_.running.back().callbacks.size(); ++i) {
    auto callback = std::move(passes_.running.back().callbacks[i]);
    callback();
  }
}

}  // namespace simmesh
