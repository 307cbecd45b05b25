#include "core/ops/neural/convolution.h"

#include "sharding/strategies/local_sizes.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Dims of inputs [n, in, ..., w], and of weights [out, in, ..., columns]. The width is the last
// dim.
constexpr std::int64_t batch_dim = 0, channel_dim = 1;
constexpr std::int64_t out_dim = 0, in_dim = 1;
const Placement partial_weight = Partial(ReduceOp::sum);

std::int64_t width_dim(const StrategyRequest& call) {
  return std::int64_t(call.inputs[0].shape.size()) - 1;
}

StrategyRow with_bias(StrategyRow row, const StrategyRequest& call, const Placement& bias) {
  if (call.inputs.size() > 2) row.inputs.push_back(bias);
  return row;
}

StrategyRows convolution_rows(const StrategyRequest& call) {
  Convolution options = convolution_of(call.attributes);
  auto with = [&](StrategyRow row, const Placement& bias) {
    return with_bias(std::move(row), call, bias);
  };
  Placement whole = Replicate();
  StrategyRows rows = {with(rule({Shard(batch_dim), whole}, Shard(batch_dim)), whole)};
  if (tiles_width(options, call.inputs[1].shape))
    rows.push_back(with(rule({Shard(width_dim(call)), whole}, Shard(width_dim(call))), whole));
  return rows;
}

// Inputs: the images and the gradient of the result.
StrategyRows weight_rows(const StrategyRequest& call) {
  Convolution options = convolution_of(call.attributes);
  Placement whole = Replicate();
  StrategyRows rows = {rule({Shard(batch_dim), Shard(batch_dim)}, partial_weight)};
  if (tiles_width(options, call.outputs[0].shape))
    rows.push_back(rule({Shard(width_dim(call)), Shard(width_dim(call))}, partial_weight));
  if (options.groups != 1) return rows;
  rows.push_back(rule({Shard(channel_dim), whole}, Shard(in_dim)));
  rows.push_back(rule({whole, Shard(channel_dim)}, Shard(out_dim)));
  return rows;
}

// Pieces of the width are whole windows: one plain shard, with equally many windows on every rank.
bool cuts_between_windows(const MeshRequest& request, const MeshCandidate& candidate) {
  const Placements& images = *candidate.inputs[0];
  std::int64_t width = width_dim(request.call), shards = 0;
  std::int64_t windows = convolution_of(request.call.attributes).stride.back();
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (!images[i].splits(width)) continue;
    if (!images[i].is_shard() || ++shards > 1) return false;
    if (request.call.inputs[0].shape.back() % (windows * request.mesh_shape[i]) != 0) return false;
  }
  return true;
}

}  // namespace

void convolution_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"convolution", {.rows = convolution_rows, .filter = cuts_between_windows}},
      {"convolution_weight",
       {.rows = weight_rows,
        .filter = cuts_between_windows,
        .local_attributes = local_sizes(attribute::weight_size)}},
  };
  table.add(strategies);
}

}  // namespace simmesh
