#include "core/ops/neural/gradient_operands.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/neural/losses.h"
#include "core/ops/promotion.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/pointwise_rows.h"
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

constexpr std::int64_t images_batch = 0;

std::int64_t last_dim(const StrategyRequest& call) {
  return std::int64_t(call.inputs[0].shape.size()) - 1;
}

// The images and the gradient of their convolution have one placement along the batch, or between
// windows along the width. A weight is whole.
StrategyRows convolution_operand_rows(const StrategyRequest& call, bool is_tiled) {
  if (call.inputs.size() == 1) return {};
  StrategyRows rows = {unchanged({Shard(images_batch), Shard(images_batch)})};
  if (is_tiled) rows.push_back(unchanged({Shard(last_dim(call)), Shard(last_dim(call))}));
  return rows;
}

// True if each rank has an image where the batch is cut as it is given.
bool gives_images_to_all(const MeshRequest& request, const Placements& given) {
  std::int64_t pieces = 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] == Shard(images_batch)) pieces *= request.mesh_shape[i];
  return request.call.inputs[0].shape[images_batch] >= pieces;
}

// True if images that a convolution takes as they are stay so.
bool keeps_images(const MeshRequest& request, const MeshCandidate& candidate) {
  if (request.call.inputs.size() == 1) return true;
  const Placements &given = *request.given[0], &wanted = *candidate.inputs[0];
  bool is_tiled = request.call.attributes.get(attribute::of) == "tiled_convolution";
  std::int64_t width = last_dim(request.call), windows = request.call.inputs[1].shape.back();
  auto shards = std::count_if(given.begin(), given.end(),
                              [&](const Placement& placement) { return placement.splits(width); });
  for (std::size_t i = 0; i < given.size(); ++i) {
    bool is_cut_between = is_tiled && shards == 1 && given[i] == Shard(width) &&
                          windows % request.mesh_shape[i] == 0 &&
                          request.call.inputs[0].shape.back() % windows == 0;
    if (wanted[i].splits(width) && !is_cut_between) return false;
    bool is_cut_batch = given[i] == Shard(images_batch) && gives_images_to_all(request, given);
    bool stays = is_cut_between || given[i].is_replicate() || is_cut_batch;
    if (stays && wanted[i] != given[i]) return false;
  }
  return true;
}

// Adds a row with sums or averages for those operands whose bits are set, in the order of inputs.
void add_partial_operands(StrategyRows& rows, std::size_t count, unsigned partial,
                          std::initializer_list<ReduceOp> reductions = {ReduceOp::sum,
                                                                        ReduceOp::avg}) {
  for (ReduceOp op : reductions) {
    StrategyRow::Entries entries;
    for (std::size_t i = 0; i < count; ++i)
      entries.push_back((partial >> i & 1) != 0 ? Placement(Partial(op)) : Replicate());
    rows.push_back(unchanged(entries));
  }
}

// PyTorch derives the layouts of such a gradient from simpler ops, for which it tries pieces before
// the whole.
StrategyRows elementwise_operand_rows(const StrategyRequest& call, const std::string& of) {
  std::size_t count = call.inputs.size();
  TensorType result{broadcast_shapes(call.inputs), call.inputs[0].dtype};
  StrategyRows rows =
      elementwise_rows({call.inputs, gsl::span<const TensorType>(&result, 1), call.attributes});
  for (StrategyRow& row : rows) row.outputs = row.inputs;
  if (of != "elementwise") add_partial_operands(rows, count, 0b001);
  if (of == "mse_loss") {
    add_partial_operands(rows, count, 0b110);
    // An average that is shifted by a whole tensor stays one.
    add_partial_operands(rows, count, 0b010, {ReduceOp::avg});
    add_partial_operands(rows, count, 0b100, {ReduceOp::avg});
  }
  rows.push_back(unchanged(StrategyRow::Entries(count, Replicate())));
  return linear_in(call, std::move(rows));
}

// True if each partial placement is that of some operand: PyTorch tries no others.
bool has_given_partials(const MeshRequest& request, const MeshCandidate& candidate) {
  auto is_given = [&](const Placement& one) {
    return std::any_of(request.given.begin(), request.given.end(), [&](const auto& list) {
      return list && std::find(list->begin(), list->end(), one) != list->end();
    });
  };
  return std::all_of(candidate.inputs.begin(), candidate.inputs.end(), [&](const auto& list) {
    return !list || std::all_of(list->begin(), list->end(), [&](const Placement& one) {
      return !one.is_partial() || is_given(one);
    });
  });
}

bool is_convolution(const std::string& of) {
  return of == "convolution" || of == "tiled_convolution";
}

bool is_elementwise(const std::string& of) {
  return of == "elementwise" || of == "factor" || of == "mse_loss";
}

// The gradient of an operation keeps its split, and a partial one becomes replicated; or it is
// replicated, where a dim is too short to be split.
bool fits_operands(const MeshRequest& request, const MeshCandidate& candidate) {
  const std::string& of = request.call.attributes.get(attribute::of);
  if (is_elementwise(of)) return has_given_partials(request, candidate);
  if (is_convolution(of)) return keeps_images(request, candidate);
  if (of != "operation") return true;
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
  if (is_convolution(of)) return convolution_operand_rows(call, of == "tiled_convolution");
  if (is_elementwise(of)) return elementwise_operand_rows(call, of);
  raise(ErrorKind::value_error, "gradient_operands",
        "expected operands of nll_loss, layer_norm, convolution, an elementwise function or an "
        "operation, got those of '{}'",
        of);
}

}  // namespace

void gradient_operands_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"gradient_operands", {.rows = operand_rows, .filter = fits_operands, .only_aligns = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
