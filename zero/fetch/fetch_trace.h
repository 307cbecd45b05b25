#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

#include "zero/fetch/event.h"
#include "zero/fetch/fetch_graph.h"

namespace simmesh::zero {

// FetchTrace is the order in which an iteration enters modules and so needs parameters. The first
// iteration records it, later ones are compared with it. An iteration may stop early; one that
// differs from the trace, or continues beyond its end, makes it INVALID, and the next one records
// again.
class FetchTrace {
 public:
  // Need is one use of a parameter, at a step of the order.
  struct Need {
    ParamId param;
    std::int64_t step;
  };

  TraceMode mode() const { return mode_; }
  // modules are entered in this order; needs follow from it, ascending within a step.
  const std::vector<ModuleId>& modules() const { return modules_; }
  const std::vector<Need>& needs() const { return needs_; }

  // continues is true if a module may be entered at a step: always where there is no complete
  // trace.
  bool continues(std::int64_t step, ModuleId module) const {
    return mode_ != TraceMode::complete ||
           (std::size_t(step) < modules_.size() && modules_[std::size_t(step)] == module);
  }
  // is_current is true if the module's needs are those of the time when the trace was completed.
  bool is_current(ModuleId module, const FetchGraph& graph) const {
    return mode_ != TraceMode::complete || versions_[std::size_t(module)] == graph.version(module);
  }

  // begin starts a recording where the trace is INVALID; complete ends one; invalidate forgets all.
  void begin() { mode_ = TraceMode::record; }
  void record(ModuleId module) { modules_.push_back(module); }
  void complete(const FetchGraph& graph);
  void invalidate();

 private:
  TraceMode mode_ = TraceMode::invalid;
  std::vector<ModuleId> modules_;
  std::vector<Need> needs_;
  std::vector<std::uint32_t> versions_;  // of the modules of the graph
};

}  // namespace simmesh::zero
