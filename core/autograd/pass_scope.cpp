#include "core/autograd/pass_scope.h"

#include "core/autograd/backward.h"
#include "core/check/error.h"
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

void queue_callback(std::function<void()> callback) {
  BackwardPasses& all = backward_passes();
  if (all.running.empty())
    raise(ErrorKind::runtime_error, "autograd/queue_callback",
          "Final callbacks can only be installed during backward pass");
  all.running.back().callbacks.push_back(std::move(callback));
}

std::optional<std::uint64_t> current_backward() {
  BackwardPasses& all = backward_passes();
  if (all.running.empty()) return std::nullopt;
  return all.running.back().number;
}

}  // namespace simmesh
