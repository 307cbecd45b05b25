#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/autograd/backward_span.h"

namespace simmesh {

// BackwardPasses are the backward passes that run on a rank, the innermost last.
struct BackwardPasses {
  struct Pass {
    std::uint64_t number;
    std::vector<std::function<void()>> callbacks;
  };
  std::uint64_t next = 0;
  std::vector<Pass> running;
};

// backward_passes returns those of the rank that runs.
BackwardPasses& backward_passes();

// PassScope is the duration of one backward pass.
class PassScope {
 public:
  PassScope();
  ~PassScope() { passes_.running.pop_back(); }
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

  // run_callbacks calls what was queued in the pass, and what these calls queue.
  void run_callbacks();

 private:
  BackwardPasses& passes_;
  BackwardSpan span_;
};

}  // namespace simmesh
