#include "zero/fetch/fetch_trace.h"

namespace simmesh::zero {

void FetchTrace::complete(const FetchGraph& graph) {
  needs_.clear();
  for (std::size_t step = 0; step < modules_.size(); ++step)
    for (ParamId param : graph.needs(modules_[step])) needs_.push_back({param, std::int64_t(step)});
  versions_.resize(graph.module_count());
  for (std::size_t i = 0; i < versions_.size(); ++i) versions_[i] = graph.version(ModuleId(i));
  mode_ = TraceMode::complete;
}

void FetchTrace::invalidate() {
  mode_ = TraceMode::invalid;
  modules_.clear();
  needs_.clear();
}

}  // namespace simmesh::zero
