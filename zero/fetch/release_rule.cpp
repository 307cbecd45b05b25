#include "zero/fetch/release_rule.h"

#include <algorithm>

namespace simmesh::zero {

namespace {

// Appends the parameters that a module ahead is assumed to need.
void append_ahead(std::vector<ParamId>& ahead, ModuleId module, bool after_leaf,
                  const ReleaseRule::Situation& situation) {
  const FetchGraph& graph = situation.graph;
  if (!situation.settings.faults.looks_ahead_as_released) {
    auto needs = graph.needs(module);
    ahead.assign(needs.begin(), needs.end());
    return;
  }
  ahead = after_leaf ? graph.module(module).below : graph.module(module).own;
  const std::vector<ParamId>& external = graph.externals(module);
  ahead.insert(ahead.end(), external.begin(), external.end());
}

// Nobody prefetches again a use that the queue has already given out.
void drop_asked_for(std::vector<ParamId>& ids, std::int64_t step,
                    const ReleaseRule::Situation& situation) {
  ids.erase(std::remove_if(ids.begin(), ids.end(),
                           [&](ParamId id) { return situation.recent[std::size_t(id)] > step; }),
            ids.end());
}

std::vector<ParamId> decide(ModuleId module, std::int64_t step,
                            const ReleaseRule::Situation& situation) {
  const FetchGraph& graph = situation.graph;
  std::vector<ParamId> candidates;
  for (ParamId id : graph.needs(module))
    if (!graph.param(id).is_persistent) candidates.push_back(id);
  if (situation.settings.faults.remembers_stale_releases)
    drop_asked_for(candidates, step, situation);
  const std::vector<ModuleId>& order = situation.trace.modules();
  std::vector<ParamId> ahead;
  std::int64_t distance = 0;
  for (auto next = std::size_t(step); next < order.size() && !candidates.empty(); ++next) {
    if (distance >= situation.settings.max_reuse_distance) break;
    append_ahead(ahead, order[next], graph.is_leaf(module), situation);
    for (ParamId id : ahead) {
      distance += graph.param(id).numel;
      candidates.erase(std::remove(candidates.begin(), candidates.end(), id), candidates.end());
    }
  }
  return candidates;
}

}  // namespace

const std::vector<ParamId>& ReleaseRule::given_up(ModuleId module, std::int64_t step,
                                                  const Situation& situation) {
  if (decisions_.size() <= std::size_t(step)) decisions_.resize(std::size_t(step) + 1);
  std::vector<Decision>& known = decisions_[std::size_t(step)];
  auto decision = std::find_if(known.begin(), known.end(),
                               [module](const Decision& each) { return each.module == module; });
  if (decision == known.end())
    decision = known.insert(known.end(), {module, decide(module, step, situation)});
  if (situation.settings.faults.remembers_stale_releases) return decision->given_up;
  given_up_ = decision->given_up;
  drop_asked_for(given_up_, step, situation);
  return given_up_;
}

}  // namespace simmesh::zero
