#include "core/ops/shapes/views.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/dim_list.h"
#include "core/ops/view_arguments.h"
#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"
#include "sharding/strategies/view_placements.h"

namespace simmesh {

namespace {

const Shape& input_shape(const StrategyRequest& call) { return call.inputs[0].shape; }

std::int64_t dim_of(const StrategyRequest& call, std::size_t rank) {
  return wrapped_dim(call.attributes.get(attribute::dim), rank);
}

// A view given by the map of its dims.
using MapOfCall = ViewMap (*)(const StrategyRequest& call);

MeshRule by_map(MapOfCall map_of, bool is_strict) {
  return [map_of, is_strict](const MeshRequest& request) -> std::vector<MeshCandidate> {
    ViewMap map = map_of(request.call);
    return {viewed_placements(request, {.from = input_shape(request.call),
                                        .to = request.call.outputs[0].shape,
                                        .map = map,
                                        .is_strict = is_strict})};
  };
}

ViewMap view_map(const StrategyRequest& call) {
  return reshaping_map(input_shape(call), call.outputs[0].shape);
}

// A piece may lack strides for the view: then it is copied. Its shape decides: a dim of size one of
// a piece may be longer in the whole tensor.
std::vector<Tensor> view_of_piece(const LocalCall& call) {
  return {reshape(call.inputs[0], call.output_specs[0]->local_shape())};
}

ViewMap transpose_map(const StrategyRequest& call) {
  Dims order;
  std::size_t rank = input_shape(call).size();
  for (std::size_t dim = 0; dim < rank; ++dim) order.push_back(std::int64_t(dim));
  if (rank > 0)
    std::swap(order[std::size_t(wrapped_dim(call.attributes.get(attribute::dim0), rank))],
              order[std::size_t(wrapped_dim(call.attributes.get(attribute::dim1), rank))]);
  return permuting_map(order);
}

StrategyRows t_rows(const StrategyRequest& call) {
  std::int64_t last = std::int64_t(input_shape(call).size()) - 1;
  return moving_rows(call, [=](std::int64_t dim) { return last - dim; });
}

ViewMap permute_map(const StrategyRequest& call) {
  return permuting_map(
      wrapped_order(call.attributes.get(attribute::dims), input_shape(call).size()));
}

// Returns the dims that squeeze drops. A piece may have others of size one.
Dims squeezed_dims(const Attributes& attributes, const Shape& shape) {
  Dims dims;
  for (std::int64_t dim : wrapped_dims(attributes.get(attribute::squeezed_dims), shape.size()))
    if (std::size_t(dim) < shape.size() && shape[std::size_t(dim)] == 1) dims.push_back(dim);
  return dims;
}

ViewMap squeeze_map(const StrategyRequest& call) {
  Dims gone = squeezed_dims(call.attributes, input_shape(call)), order;
  for (std::int64_t dim = 0; dim < std::int64_t(input_shape(call).size()); ++dim)
    if (std::find(gone.begin(), gone.end(), dim) == gone.end()) order.push_back(dim);
  return permuting_map(order);
}

ViewMap unsqueeze_map(const StrategyRequest& call) {
  std::int64_t added = dim_of(call, call.outputs[0].shape.size()), next = 0;
  Dims order;
  for (std::int64_t dim = 0; dim < std::int64_t(call.outputs[0].shape.size()); ++dim)
    order.push_back(dim == added ? -1 : next++);
  return permuting_map(order);
}

// A dim that is repeated can't be split.
ViewMap expand_map(const StrategyRequest& call) {
  const Shape& from = input_shape(call);
  const Shape& to = call.outputs[0].shape;
  std::size_t added = to.size() - from.size();
  Dims order(to.size(), -1);
  for (std::size_t dim = 0; dim < from.size(); ++dim)
    if (from[dim] == to[added + dim]) order[added + dim] = std::int64_t(dim);
  return permuting_map(order);
}

StrategyRows slice_rows(const StrategyRequest& call) {
  SliceRange range = slice_of(call.attributes, input_shape(call));
  bool is_whole =
      range.start == 0 && range.step == 1 && range.end == input_shape(call)[std::size_t(range.dim)];
  return moving_rows(call,
                     [&](std::int64_t dim) { return dim == range.dim && !is_whole ? -1 : dim; });
}

StrategyRows slice_backward_rows(const StrategyRequest& call) {
  std::int64_t sliced = dim_of(call, input_shape(call).size());
  return moving_rows(call, [=](std::int64_t dim) { return dim == sliced ? -1 : dim; });
}

StrategyRows without_dim_rows(const StrategyRequest& call) {
  std::int64_t gone = dim_of(call, input_shape(call).size());
  return moving_rows(
      call, [=](std::int64_t dim) { return dim == gone ? -1 : dim - std::int64_t(dim > gone); });
}

StrategyRows select_backward_rows(const StrategyRequest& call) {
  std::int64_t added = dim_of(call, call.outputs[0].shape.size());
  return moving_rows(call, [=](std::int64_t dim) { return dim + std::int64_t(dim >= added); });
}

StrategyRows split_rows(const StrategyRequest& call) {
  std::int64_t cut = dim_of(call, input_shape(call).size());
  return moving_rows(call, [=](std::int64_t dim) { return dim == cut ? -1 : dim; });
}

// unbind is a view and moves nothing.
bool unbinds_in_place(const MeshRequest& request, const MeshCandidate& candidate) {
  std::int64_t gone = dim_of(request.call, input_shape(request.call).size());
  const Placements& given = *request.given[0];
  for (const Placement& one : given)
    if (one.splits(gone))
      raise(ErrorKind::runtime_error, "sharding/unbind",
            "Attempted to unbind along the sharded dimension {}, got {}. Please redistribute the "
            "input explicitly before unbinding.",
            gone, to_string(PlacementSpan(given)));
  return *candidate.inputs[0] == given;
}

}  // namespace

void views_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"view", {.over_mesh = by_map(view_map, true), .compute = view_of_piece}},
      {"reshape", {.over_mesh = by_map(view_map, false), .compute = view_of_piece}},
      {"transpose", {.over_mesh = by_map(transpose_map, false)}},
      {"t", {.rows = t_rows}},
      {"permute", {.over_mesh = by_map(permute_map, false)}},
      {"squeeze", {.over_mesh = by_map(squeeze_map, true), .compute = view_of_piece}},
      {"unsqueeze", {.over_mesh = by_map(unsqueeze_map, false)}},
      {"expand",
       {.over_mesh = by_map(expand_map, false),
        .local_attributes = with_output_shape(attribute::size)}},
      {"slice", {.rows = slice_rows, .accepts_short_dims = true}},
      {"slice_backward", going_on({.rows = slice_backward_rows,
                                   .accepts_short_dims = true,
                                   .local_attributes = with_output_shape(attribute::input_sizes)})},
      {"select", {.rows = without_dim_rows, .accepts_short_dims = true}},
      {"select_backward",
       going_on({.rows = select_backward_rows,
                 .accepts_short_dims = true,
                 .local_attributes = with_output_shape(attribute::input_sizes)})},
      {"split_with_sizes", {.rows = split_rows}},
      {"unbind",
       {.rows = without_dim_rows, .filter = unbinds_in_place, .accepts_short_dims = true}},
      {"clone", passing()},
      {"diagonal", {}},
      {"diagonal_backward", going_on({})},
  };
  table.add(strategies);
}

}  // namespace simmesh
