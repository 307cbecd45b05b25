#include "sharding/strategies/derived_rows.h"

#include <algorithm>

namespace simmesh {

namespace {

bool is_candidate(const Placement& partial, gsl::span<const std::optional<Placements>> given) {
  return std::any_of(given.begin(), given.end(), [&](const auto& list) {
    return list && std::find(list->begin(), list->end(), partial) != list->end();
  });
}

// Returns the place of an entry among the candidates of its input.
std::int64_t place_of(const std::optional<Placement>& entry) {
  constexpr std::int64_t behind_shards = 1 << 20;
  if (!entry) return 0;
  if (entry->splits()) return entry->dim();
  return behind_shards + std::int64_t(entry->is_replicate());
}

bool comes_before(const StrategyRow& a, const StrategyRow& b) {
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    if (place_of(a.inputs[i]) != place_of(b.inputs[i]))
      return place_of(a.inputs[i]) < place_of(b.inputs[i]);
  return false;
}

}  // namespace

StrategyRows derived_rows(StrategyRows rows, gsl::span<const std::optional<Placements>> given) {
  auto has_other_partial = [&](const StrategyRow& row) {
    return std::any_of(row.inputs.begin(), row.inputs.end(), [&](const auto& entry) {
      return entry && entry->is_partial() && !is_candidate(*entry, given);
    });
  };
  rows.erase(std::remove_if(rows.begin(), rows.end(), has_other_partial), rows.end());
  std::stable_sort(rows.begin(), rows.end(), comes_before);
  return rows;
}

}  // namespace simmesh
