#include "core/ops/indexing/rearranging.h"

#include <algorithm>

#include "core/ops/attribute_names.h"
#include "core/ops/dim_list.h"
#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/strategy_table.h"
#include "sharding/strategies/view_placements.h"

namespace simmesh {

namespace {

// Returns the rows of an op that works along some dims.
StrategyRows rows_beside(const StrategyRequest& call, const Dims& along,
                         std::initializer_list<ReduceOp> reductions = passing_reductions) {
  return moving_rows(
      call,
      [&](std::int64_t dim) {
        return std::find(along.begin(), along.end(), dim) == along.end() ? dim : -1;
      },
      reductions);
}

StrategyRows flip_rows(const StrategyRequest& call) {
  Dims along;
  for (std::int64_t dim : call.attributes.get(attribute::dims))
    along.push_back(wrapped_dim(dim, call.inputs[0].shape.size()));
  return rows_beside(call, along);
}

// Without dims the elements move through all of them.
StrategyRows roll_rows(const StrategyRequest& call) {
  Dims along;
  for (std::int64_t dim : call.attributes.get(attribute::dims))
    along.push_back(wrapped_dim(dim, call.inputs[0].shape.size()));
  if (along.empty()) along = wrapped_dims({}, call.inputs[0].shape.size());
  return rows_beside(call, along);
}

StrategyRows repeat_each_rows(const StrategyRequest& call) {
  return rows_beside(call, {call.attributes.get(attribute::dim)});
}

// Every rank would add the padding to a partial sum.
StrategyRows pad_rows(const StrategyRequest& call) {
  const Dims& pads = call.attributes.get(attribute::pad);
  Dims along;
  for (std::size_t i = 0; i + 1 < pads.size(); i += 2)
    if (pads[i] != 0 || pads[i + 1] != 0)
      along.push_back(std::int64_t(call.inputs[0].shape.size()) - 1 - std::int64_t(i / 2));
  bool adds_zeros =
      along.empty() || call.attributes.get_or(attribute::value, 0.0).as<double>() == 0.0;
  if (adds_zeros) return rows_beside(call, along);
  return rows_beside(call, along, {ReduceOp::avg, ReduceOp::min, ReduceOp::max});
}

// A dim that is repeated can't be split.
std::vector<MeshCandidate> repeat_candidates(const MeshRequest& request) {
  const Dims& repeats = request.call.attributes.get(attribute::repeats);
  std::size_t added = repeats.size() - request.call.inputs[0].shape.size();
  Dims order(repeats.size(), -1);
  for (std::size_t dim = added; dim < repeats.size(); ++dim)
    if (repeats[dim] == 1) order[dim] = std::int64_t(dim - added);
  ViewMap map = permuting_map(order);
  return {viewed_placements(
      request,
      {.from = request.call.inputs[0].shape, .to = request.call.outputs[0].shape, .map = map})};
}

}  // namespace

void rearranging_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"flip", {.rows = flip_rows}},
      {"constant_pad_nd", {.rows = pad_rows}},
      {"repeat", {.over_mesh = repeat_candidates}},
      {"repeat_interleave", {.rows = repeat_each_rows}},
      {"roll", {.rows = roll_rows}},
      {"tril", {}},
      {"triu", {}},
  };
  table.add(strategies);
}

}  // namespace simmesh
