#include "sharding/strategies/pointwise_rows.h"

#include <algorithm>

#include "sharding/strategies/partial_rows.h"

namespace simmesh {

namespace {

std::size_t defined_count(gsl::span<const TensorType> types) {
  std::size_t count = 0;
  for (const TensorType& type : types) count += type.is_defined;
  return count;
}

// Returns the row that splits one dim of the result. Dims are broadcast from the last one on.
StrategyRow split_row(const StrategyRequest& call, std::int64_t dim) {
  const Shape& result = call.outputs[0].shape;
  StrategyRow row;
  for (const TensorType& input : call.inputs) {
    if (!input.is_defined) {
      row.inputs.emplace_back();
      continue;
    }
    std::int64_t own = dim - std::int64_t(result.size() - input.shape.size());
    bool has_dim = own >= 0 && input.shape[std::size_t(own)] == result[std::size_t(dim)];
    row.inputs.push_back(has_dim ? Shard(own) : Replicate());
  }
  row.outputs.assign(call.outputs.size(), Shard(dim));
  return row;
}

// An average of integers drops its fraction when it is reduced, so computing with the parts first
// gives another result.
bool averages_integers(const StrategyRow& row, const StrategyRequest& call) {
  for (std::size_t i = 0; i < row.inputs.size(); ++i)
    if (row.inputs[i] && *row.inputs[i] == Partial(ReduceOp::avg) &&
        !is_floating_point(call.inputs[i].dtype))
      return true;
  return false;
}

// Returns a partial row for the tensors of a call; absent ones have no placement.
StrategyRow spread_row(const StrategyRow& partial, const StrategyRequest& call) {
  StrategyRow row{{}, {}, partial.cost_us};
  std::size_t next = 0;
  for (const TensorType& input : call.inputs)
    row.inputs.push_back(input.is_defined ? partial.inputs[next++] : std::nullopt);
  row.outputs.assign(call.outputs.size(), partial.outputs[0]);
  return row;
}

}  // namespace

StrategyRows elementwise_rows(const StrategyRequest& call, const StrategyRows& partial) {
  StrategyRows rows;
  std::int64_t dims = std::int64_t(call.outputs[0].shape.size());
  for (std::int64_t dim = 0; dim < dims; ++dim) rows.push_back(split_row(call, dim));
  std::size_t tensors = defined_count(call.inputs);
  for (const StrategyRow& row : partial)
    if (row.inputs.size() == tensors) rows.push_back(spread_row(row, call));
  return rows;
}

ShardingStrategy elementwise(StrategyRows partial) {
  auto rows = [partial = std::move(partial)](const StrategyRequest& call) {
    StrategyRows all = elementwise_rows(call, partial);
    auto is_wrong = [&](const StrategyRow& row) { return averages_integers(row, call); };
    all.erase(std::remove_if(all.begin(), all.end(), is_wrong), all.end());
    return all;
  };
  return {.rows = std::move(rows), .accepts_short_dims = true};
}

ShardingStrategy passing() {
  auto rows = [](const StrategyRequest& call) { return elementwise_rows(call, passing_rows()); };
  return {.rows = rows, .accepts_short_dims = true};
}

}  // namespace simmesh
