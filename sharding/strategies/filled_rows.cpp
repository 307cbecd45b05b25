#include "sharding/strategies/filled_rows.h"

#include <algorithm>

#include "core/check/check.h"

namespace simmesh {

namespace {

bool holds_replicated(const StrategyRow::Entries& entries) {
  return std::all_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return !entry || entry->is_replicate(); });
}

// Outputs that no row gives a placement, such as those that are masked off, have none here either.
StrategyRow replicated_row(const StrategyRows& rows, const StrategyRequest& call) {
  StrategyRow row;
  row.inputs.assign(call.inputs.size(), Replicate());
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    bool has_none = !call.outputs[i].is_defined ||
                    (!rows.empty() && std::all_of(rows.begin(), rows.end(), [i](const auto& one) {
                      return !one.outputs[i];
                    }));
    row.outputs.push_back(has_none ? std::optional<Placement>() : Replicate());
  }
  return row;
}

// Returns the kinds of shards of the inputs, each as a shard of tensor dim 0.
std::vector<Placement> kinds_seen(gsl::span<const std::optional<Placements>> given) {
  std::vector<Placement> kinds;
  for (const auto& placements : given)
    if (placements)
      for (const Placement& one : *placements)
        if (one.splits()) kinds.push_back(one.is_ragged_shard() ? one : one.with_dim(0));
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

bool has_shard(const StrategyRow& row) {
  auto splits = [](const auto& entry) { return entry && entry->splits(); };
  return std::any_of(row.inputs.begin(), row.inputs.end(), splits) ||
         std::any_of(row.outputs.begin(), row.outputs.end(), splits);
}

// True if all shards of a row split dims 0 of one length: then the units of one are units of
// another.
bool splits_equal_rows(const StrategyRow& row, const StrategyRequest& call) {
  std::optional<std::int64_t> length;
  auto fits = [&](const StrategyRow::Entries& entries, gsl::span<const TensorType> types) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i] || !entries[i]->splits()) continue;
      if (entries[i]->dim() != 0 || types[i].shape.empty()) return false;
      if (length && *length != types[i].shape[0]) return false;
      length = types[i].shape[0];
    }
    return true;
  };
  return fits(row.inputs, call.inputs) && fits(row.outputs, call.outputs);
}

void fill(StrategyRow::Entries& entries, const Placement& kind) {
  for (auto& entry : entries)
    if (entry && entry->splits())
      entry = kind.is_ragged_shard() ? kind : kind.with_dim(entry->dim());
}

}  // namespace

StrategyRows filled_rows(StrategyRows rows, const StrategyRequest& call,
                         gsl::span<const std::optional<Placements>> given) {
  for (const StrategyRow& row : rows)
    SIMMESH_CHECK(
        row.inputs.size() == call.inputs.size() && row.outputs.size() == call.outputs.size(),
        "a row of {} inputs and {} outputs for a call of {} and {}", row.inputs.size(),
        row.outputs.size(), call.inputs.size(), call.outputs.size());
  bool has_replicated = std::any_of(rows.begin(), rows.end(), [](const StrategyRow& row) {
    return holds_replicated(row.inputs) && holds_replicated(row.outputs);
  });
  if (!has_replicated) rows.insert(rows.begin(), replicated_row(rows, call));
  std::vector<Placement> kinds = kinds_seen(given);
  StrategyRows result;
  result.reserve(rows.size() * std::max<std::size_t>(kinds.size(), 1));
  for (StrategyRow& row : rows) {
    if (!has_shard(row)) {
      result.push_back(std::move(row));
      continue;
    }
    if (row.splits_anew) result.push_back(row);
    for (const Placement& kind : kinds) {
      if (row.splits_anew && kind.is_shard()) continue;
      if (kind.is_ragged_shard() && !splits_equal_rows(row, call)) continue;
      result.push_back(row);
      fill(result.back().inputs, kind);
      fill(result.back().outputs, kind);
    }
  }
  return result;
}

}  // namespace simmesh
