#include "core/ops/neural/gradient_operands.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/neural/losses.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

StrategyRow unchanged(const StrategyRow::Entries& entries) { return {entries, entries}; }

// Targets have no class dim. Only a mean is divided by the weight of all targets, so other losses
// may keep a partial weight. The weights of the classes are whole.
StrategyRows nll_loss_operand_rows(const StrategyRequest& call) {
  StrategyRows rows;
  auto add = [&](StrategyRow::Entries entries) {
    for (std::size_t i = 4; i < call.inputs.size(); ++i) entries.push_back(Replicate());
    rows.push_back(unchanged(entries));
  };
  LossReduction reduction = reduction_of(call.attributes);
  bool is_mean = reduction == LossReduction::mean, is_none = reduction == LossReduction::none;
  std::int64_t dims = std::int64_t(call.inputs[1].shape.size());
  std::int64_t classes = class_dim(call.inputs[1].shape.size());
  Placement whole = Replicate(), partial = Partial(ReduceOp::sum);
  for (std::int64_t dim = 0; dim < dims; ++dim) {
    if (dim == classes) continue;
    Placement target = Shard(dim < classes ? dim : dim - 1);
    Placement gradient = is_none ? target : whole;
    add({gradient, Shard(dim), target, whole});
    if (!is_mean && !is_none) add({gradient, Shard(dim), target, partial});
  }
  if (!is_mean) add({whole, whole, whole, partial});
  return rows;
}

// All have one placement along the dims that aren't normalized; parameters, which come last, are
// whole.
StrategyRows layer_norm_operand_rows(const StrategyRequest& call) {
  std::size_t normalized = call.attributes.get(attribute::normalized_shape).size();
  std::int64_t parameters = call.attributes.get(attribute::parameters);
  StrategyRows rows;
  for (std::size_t dim = 0; dim + normalized < call.inputs[0].shape.size(); ++dim) {
    StrategyRow row = common_dim_row(call, std::int64_t(dim));
    std::fill_n(row.inputs.end() - parameters, parameters, Replicate());
    std::fill_n(row.outputs.end() - parameters, parameters, Replicate());
    rows.push_back(std::move(row));
  }
  return rows;
}

// The images and the gradient of their convolution have one placement along the batch. A weight is
// whole.
StrategyRows convolution_operand_rows(const StrategyRequest& call) {
  constexpr std::int64_t batch_dim = 0;
  if (call.inputs.size() == 1) return {};
  return {unchanged({Shard(batch_dim), Shard(batch_dim)})};
}

// The gradient of an operation keeps its split, and a partial one becomes replicated; or it is
// replicated, where a dim is too short to be split.
bool keeps_splits(const MeshRequest& request, const MeshCandidate& candidate) {
  if (request.call.attributes.get(attribute::of) != "operation") return true;
  const Placements &given = *request.given[0], &wanted = *candidate.inputs[0];
  bool is_whole = std::all_of(wanted.begin(), wanted.end(),
                              [](const Placement& one) { return one.is_replicate(); });
  return is_whole || std::equal(given.begin(), given.end(), wanted.begin(),
                                [](const Placement& is, const Placement& becomes) {
                                  return is.is_partial() ? becomes.is_replicate() : becomes == is;
                                });
}

StrategyRows operand_rows(const StrategyRequest& call) {
  const auto& of = call.attributes.get(attribute::of);
  if (of == "operation") return kept_dim_rows(call);
  if (of == "nll_loss") return nll_loss_operand_rows(call);
  if (of == "layer_norm") return layer_norm_operand_rows(call);
  if (of == "convolution") return convolution_operand_rows(call);
  raise(ErrorKind::value_error, "gradient_operands",
        "expected operands of nll_loss, layer_norm, convolution or an operation, got those of '{}'",
        of);
}

}  // namespace

void gradient_operands_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"gradient_operands", {.rows = operand_rows, .filter = keeps_splits, .only_aligns = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
