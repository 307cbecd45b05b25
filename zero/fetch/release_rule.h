#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

#include "zero/fetch/fetch_settings.h"
#include "zero/fetch/fetch_trace.h"

namespace simmesh::zero {

// ReleaseRule decides which parameters a module releases when it is left under a complete trace:
// those that it needs, except persistent parameters, those that a prefetch has already been asked
// for, and those that modules ahead need before max_reuse_distance elements have been used. The
// distance is checked before each module, so a whole module may be beyond it. The look-ahead is
// done once for a module at a step.
class ReleaseRule {
 public:
  // Situation is the input of a decision. recent[p] is the last step of the trace for which the
  // queue has given out p in this iteration.
  struct Situation {
    const FetchGraph& graph;
    const FetchTrace& trace;
    gsl::span<const std::int64_t> recent;
    const FetchSettings& settings;
  };

  // given_up returns the parameters that a module releases, ascending. `step` is that of the module
  // entered next.
  const std::vector<ParamId>& given_up(ModuleId module, std::int64_t step,
                                       const Situation& situation);

  // forget drops all decisions, since they belong to a trace.
  void forget() { decisions_.clear(); }

 private:
  struct Decision {
    ModuleId module;
    std::vector<ParamId> given_up;
  };

  std::vector<std::vector<Decision>> decisions_;  // by step
  std::vector<ParamId> given_up_;                 // the last answer
};

}  // namespace simmesh::zero
