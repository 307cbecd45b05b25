#include "sharding/validate/claimed_rules.h"

#include <algorithm>

#include "core/check/error.h"
#include "sharding/propagation/propagation.h"
#include "sharding/strategies/filled_rows.h"
#include "sharding/validate/crafted_pieces.h"

namespace simmesh {

namespace {

using Lists = std::vector<std::optional<Placements>>;

// True if propagate lets the inputs stay in the placements of a candidate.
bool may_stay(const WholeCall& call, const MeshCandidate& candidate, DimSpan mesh_shape,
              ShortDims short_dims) {
  const ShardingStrategy& strategy = call.strategy;
  for (std::size_t i = 0; i < call.input_types.size(); ++i)
    if (!strategy.over_mesh && candidate.inputs[i] && call.input_types[i].is_defined &&
        !strategy.accepts_short_dims && short_dims == ShortDims::left_out &&
        !is_shardable(call.input_types[i].shape, *candidate.inputs[i], mesh_shape))
      return false;
  MeshRequest request{call.request(), candidate.inputs, mesh_shape, {}};
  return !strategy.filter || strategy.filter(request, candidate);
}

StrategyRow row_of(const MeshCandidate& candidate) {
  StrategyRow row;
  for (const auto& list : candidate.inputs)
    row.inputs.push_back(list ? std::optional((*list)[0]) : std::nullopt);
  for (const auto& list : candidate.outputs)
    row.outputs.push_back(list ? std::optional((*list)[0]) : std::nullopt);
  return row;
}

MeshCandidate candidate_of(const StrategyRow& row) {
  MeshPlacements lists = along_one_dim(row);
  return {lists.inputs, lists.outputs, row.cost_us};
}

bool can_lie(const WholeCall& call, const StrategyRow& row) {
  for (std::size_t i = 0; i < row.inputs.size(); ++i)
    if (row.inputs[i] && !can_lie(call.input_types[i], *row.inputs[i])) return false;
  return true;
}

bool is_among(const StrategyRow& row, const InputCandidates& candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& entry = row.inputs[i];
    if (!entry || candidates[i].empty()) continue;
    if (std::find(candidates[i].begin(), candidates[i].end(), *entry) == candidates[i].end())
      return false;
  }
  return true;
}

StrategyRows by_rows(const WholeCall& call, const InputCandidates& candidates, std::int64_t members,
                     ShortDims short_dims) {
  Lists given;
  for (const auto& list : candidates)
    given.push_back(list.empty() ? std::optional<Placements>()
                                 : Placements(list.begin(), list.end()));
  StrategyRows rows = call.strategy.rows ? call.strategy.rows(call.request()) : StrategyRows();
  StrategyRows claimed;
  Dims mesh_shape = {members};
  for (StrategyRow& row : filled_rows(std::move(rows), call.request(), given))
    if (!all_replicated(row) && is_among(row, candidates) && can_lie(call, row) &&
        may_stay(call, candidate_of(row), mesh_shape, short_dims))
      claimed.push_back(std::move(row));
  return claimed;
}

void ask_over_mesh(const WholeCall& call, const Lists& given, std::int64_t members,
                   ShortDims short_dims, StrategyRows& claimed) {
  Dims mesh_shape = {members};
  std::vector<MeshCandidate> candidates;
  try {
    candidates = call.strategy.over_mesh({call.request(), given, mesh_shape, {}});
  } catch (const Error&) {
    return;  // refused
  }
  for (const MeshCandidate& candidate : candidates) {
    bool stays = true;
    for (std::size_t i = 0; i < given.size(); ++i)
      stays = stays && (!given[i] || !candidate.inputs[i] || *candidate.inputs[i] == *given[i]);
    if (stays && can_lie(call, row_of(candidate)) &&
        may_stay(call, candidate, mesh_shape, short_dims) && !all_replicated(row_of(candidate)))
      claimed.push_back(row_of(candidate));
  }
}

StrategyRows by_mesh_rule(const WholeCall& call, const InputCandidates& candidates,
                          std::int64_t members, ShortDims short_dims) {
  StrategyRows claimed;
  std::vector<std::size_t> chosen(candidates.size(), 0);
  for (;;) {
    Lists given;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      given.push_back(candidates[i].empty() ? std::optional<Placements>()
                                            : Placements{candidates[i][chosen[i]]});
    ask_over_mesh(call, given, members, short_dims, claimed);
    std::size_t i = 0;
    for (; i < chosen.size(); ++i) {
      if (chosen[i] + 1 < candidates[i].size()) {
        ++chosen[i];
        break;
      }
      chosen[i] = 0;
    }
    if (i == chosen.size()) return claimed;
  }
}

}  // namespace

bool all_replicated(const StrategyRow& rule) {
  return std::all_of(rule.inputs.begin(), rule.inputs.end(),
                     [](const auto& entry) { return !entry || entry->is_replicate(); });
}

StrategyRows claimed_rules(const WholeCall& call, const InputCandidates& candidates,
                           std::int64_t members, ShortDims short_dims) {
  return call.strategy.over_mesh ? by_mesh_rule(call, candidates, members, short_dims)
                                 : by_rows(call, candidates, members, short_dims);
}

std::vector<MeshPlacements> claimed_over_mesh(const WholeCall& call, const StrategyRows& rules,
                                              DimSpan mesh_shape) {
  std::vector<MeshPlacements> claimed;
  PropagationRequest request{.op = &call.op,
                             .attributes = call.attributes,
                             .inputs = call.input_types,
                             .given = {},
                             .mesh_shape = Dims(mesh_shape.begin(), mesh_shape.end()),
                             .out = {}};
  for (const StrategyRow& outer : rules)
    for (const StrategyRow& inner : rules) {
      request.given.clear();
      MeshPlacements lists;
      for (std::size_t i = 0; i < call.input_types.size(); ++i) {
        bool has = call.input_types[i].is_defined;
        Placements pair = {outer.inputs[i].value_or(Placement()),
                           inner.inputs[i].value_or(Placement())};
        request.given.push_back(has ? std::optional<Sharding>({pair, {}}) : std::nullopt);
        lists.inputs.push_back(has ? std::optional(pair) : std::nullopt);
      }
      try {
        std::optional<Propagation> found = propagate_unmoved(request);
        if (!found) continue;
        for (const auto& output : found->outputs)
          lists.outputs.push_back(output ? std::optional(output->placements) : std::nullopt);
        claimed.push_back(std::move(lists));
      } catch (const Error&) {
        continue;  // refused
      }
    }
  return claimed;
}

}  // namespace simmesh
