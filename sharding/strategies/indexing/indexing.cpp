#include "core/ops/indexing/indexing.h"

#include <algorithm>

#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// IndexedDims are the dims of a tensor that are indexed, and the places of the others and of the
// indices' dims in the result.
struct IndexedDims {
  Dims others;            // of x
  std::int64_t count;     // of the dims of the indices
  std::int64_t position;  // of the first of them in the result

  IndexedDims(std::size_t rank, gsl::span<const TensorType> indices) : count(0), position(0) {
    bool are_together = true;
    std::int64_t first = -1, last = -1;
    for (std::int64_t dim = 0; dim < std::int64_t(rank); ++dim) {
      if (std::size_t(dim) >= indices.size() || !indices[std::size_t(dim)].is_defined) {
        others.push_back(dim);
        continue;
      }
      are_together &= last < 0 || last + 1 == dim;
      if (first < 0) first = dim;
      last = dim;
      count = std::max(count, std::int64_t(indices[std::size_t(dim)].shape.size()));
    }
    position = are_together && first >= 0 ? first : 0;
  }

  // place_of returns the place in the result of the i-th of the others.
  std::int64_t place_of(std::size_t i) const {
    return std::int64_t(i) < position ? std::int64_t(i) : std::int64_t(i) + count;
  }
};

StrategyRow row_of(const StrategyRequest& call, const Placement& x, const Placement& output) {
  StrategyRow row = rule({x}, output);
  for (std::size_t i = 1; i < call.inputs.size(); ++i)
    row.inputs.push_back(call.inputs[i].is_defined ? std::optional(Replicate()) : std::nullopt);
  return row;
}

// Splits all indices that have a given dim of the result, counted from the first of the indices'
// dims, along it; empty where none has.
std::optional<StrategyRow> row_of_indices(const StrategyRequest& call, const IndexedDims& dims,
                                          std::int64_t dim) {
  StrategyRow row = row_of(call, Replicate(), Shard(dims.position + dim));
  bool has_any = false;
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    const TensorType& index = call.inputs[i];
    std::int64_t own = dim - (dims.count - std::int64_t(index.shape.size()));
    if (!index.is_defined || own < 0 || index.shape[std::size_t(own)] == 1) continue;
    row.inputs[i] = Shard(own);
    has_any = true;
  }
  return has_any ? std::optional(row) : std::nullopt;
}

StrategyRows index_rows(const StrategyRequest& call) {
  IndexedDims dims(call.inputs[0].shape.size(), call.inputs.subspan(1));
  StrategyRows rows;
  for (std::size_t i = 0; i < dims.others.size(); ++i)
    rows.push_back(row_of(call, Shard(dims.others[i]), Shard(dims.place_of(i))));
  for (std::int64_t dim = 0; dim < dims.count; ++dim)
    if (auto row = row_of_indices(call, dims, dim)) rows.push_back(*row);
  add_partial_rows(rows, row_of(call, Partial(), Partial()), {ReduceOp::sum, ReduceOp::avg});
  return rows;
}

// The values have the dims of the result from the last one on; those of size one are repeated.
StrategyRows index_put_rows(const StrategyRequest& call) {
  const Shape& values = call.inputs[1].shape;
  IndexedDims dims(call.inputs[0].shape.size(), call.inputs.subspan(2));
  std::int64_t result = dims.count + std::int64_t(dims.others.size());
  StrategyRows rows;
  for (std::size_t i = 0; i < dims.others.size(); ++i) {
    StrategyRow row = row_of(call, Shard(dims.others[i]), Shard(dims.others[i]));
    std::int64_t own = dims.place_of(i) - (result - std::int64_t(values.size()));
    if (own >= 0 && values[std::size_t(own)] != 1) row.inputs[1] = Shard(own);
    rows.push_back(row);
  }
  rows.push_back(row_of(call, Partial(), Partial()));
  rows.back().inputs[1] = Partial();
  return rows;
}

}  // namespace

void indexing_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"index", {.rows = index_rows, .takes_list = true}},
      {"index_put", going_on({.rows = index_put_rows, .takes_list = true})},
      {"nonzero_static", {.rows = [](const StrategyRequest&) { return StrategyRows(); }}},
  };
  table.add(strategies);
}

}  // namespace simmesh
