#include "sharding/strategies/dim_rows.h"

#include <algorithm>

#include "core/ops/attribute_names.h"
#include "core/ops/dim_list.h"
#include "core/ops/kernels/reduction_call.h"

namespace simmesh {

namespace {

bool holds(DimSpan dims, std::int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

}  // namespace

StrategyRow common_dim_row(const StrategyRequest& call, std::int64_t dim) {
  StrategyRow row;
  for (const TensorType& input : call.inputs)
    row.inputs.push_back(input.is_defined ? std::optional(Shard(dim)) : std::nullopt);
  for (const TensorType& output : call.outputs)
    row.outputs.push_back(output.is_defined ? std::optional(Shard(dim)) : std::nullopt);
  return row;
}

StrategyRows kept_dim_rows(const StrategyRequest& call, DimSpan excluded) {
  StrategyRows rows;
  std::int64_t dims = std::int64_t(call.inputs[0].shape.size());
  for (std::int64_t dim = 0; dim < dims; ++dim)
    if (!holds(excluded, dim)) rows.push_back(common_dim_row(call, dim));
  return rows;
}

ShardingStrategy along_dim(StrategyRows partial) {
  return {.rows =
              [partial = std::move(partial)](const StrategyRequest& call) {
                std::int64_t dim =
                    wrapped_dim(call.attributes.get(attribute::dim), call.inputs[0].shape.size());
                StrategyRows rows = kept_dim_rows(call, Dims{dim});
                rows.insert(rows.end(), partial.begin(), partial.end());
                return linear_in(call, std::move(rows));
              },
          .accepts_short_dims = true};
}

StrategyRows reduction_rows(const StrategyRequest& call, const std::optional<Placement>& partial) {
  std::size_t dims = call.inputs[0].shape.size();
  Dims reduced = reduced_dims(call.attributes, dims);
  bool keepdim = call.attributes.get_or(attribute::keepdim, false);
  StrategyRows rows;
  std::int64_t gone = 0;
  for (std::int64_t dim = 0; dim < std::int64_t(dims); ++dim) {
    bool is_reduced = holds(reduced, dim);
    if (!is_reduced || partial) {
      rows.push_back({{Shard(dim)}, {}});
      rows.back().outputs.assign(call.outputs.size(), is_reduced ? *partial : Shard(dim - gone));
    }
    gone += is_reduced && !keepdim;
  }
  return rows;
}

ShardingStrategy reduction() {
  return {.rows = [](const StrategyRequest& call) { return reduction_rows(call); },
          .accepts_short_dims = true};
}

StrategyRows linear_in(const StrategyRequest& call, StrategyRows rows) {
  auto fails = [&](const StrategyRow& row) {
    for (std::size_t i = 0; i < row.inputs.size(); ++i) {
      if (!row.inputs[i] || !row.inputs[i]->is_plain_partial()) continue;
      ReduceOp op = row.inputs[i]->reduce_op();
      DType dtype = call.inputs[i].dtype;
      if (op == ReduceOp::avg && !is_floating_point(dtype)) return true;
      if (op == ReduceOp::sum && dtype == DType::boolean) return true;
    }
    return false;
  };
  rows.erase(std::remove_if(rows.begin(), rows.end(), fails), rows.end());
  return rows;
}

}  // namespace simmesh
