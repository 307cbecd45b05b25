#include "sharding/strategies/place_of_extreme.h"

#include <algorithm>
#include <limits>

#include "collectives/collectives.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/reductions/extremes.h"
#include "core/ops/shapes/views.h"
#include "sharding/dtensor/dispatched_op.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/placement/local_shape.h"

namespace simmesh {

namespace {

// Found is the extreme of each result and its place, -1 where there is none; reduced dims have size
// one.
struct Found {
  Tensor values;
  Tensor places;
};

// Returns the better of two, place by place: a NaN beats all, and of equals the first wins.
Found better_of(const Found& a, const Found& b, ReduceOp op) {
  Tensor wins = op == ReduceOp::max ? gt(b.values, a.values) : lt(b.values, a.values);
  Tensor a_is_nan = isnan(a.values), b_is_nan = isnan(b.values);
  wins = logical_or(logical_and(wins, logical_not(a_is_nan)),
                    logical_and(b_is_nan, logical_not(a_is_nan)));
  Tensor ties = logical_or(eq(a.values, b.values), logical_and(a_is_nan, b_is_nan));
  Tensor takes = logical_or(wins, logical_and(ties, lt(b.places, a.places)));
  takes = logical_and(ge(b.places, 0), logical_or(takes, lt(a.places, 0)));
  return {where(takes, b.values, a.values), where(takes, b.places, a.places)};
}

// PlaceSearch is one call on one rank.
class PlaceSearch {
 public:
  PlaceSearch(const OpCall& call, ReduceOp op)
      : op_(op),
        x_(settled(DTensor::of(call.inputs[0]))),
        reduced_(reduced_dims(call.attributes, x_.shape().size())),
        keepdim_(call.attributes.get_or(attribute::keepdim, false)),
        result_(result_spec()) {}

  Tensor result() const {
    if (!x_.spec().groups->is_member())
      return DTensor(result_, empty({0}, DType::int64)).as_tensor();
    Found found = in_piece();
    for (std::size_t mesh_dim = 0; mesh_dim < x_.placements().size(); ++mesh_dim)
      if (is_reduced(x_.placements()[mesh_dim])) found = among_ranks(found, std::int64_t(mesh_dim));
    return DTensor(result_, reshape(found.places, result_.local_shape())).as_tensor();
  }

  // PyTorch gathers values and places along one mesh dim after the other. It waits in between only
  // where gathering along the dim needs a copy: not along the first dim, and not where all dims
  // before it have one element.
  std::int64_t gathers_of_unwaited() const {
    if (reduced_.size() == 1) {
      DimSpan before = DimSpan(x_.local().shape()).first(std::size_t(reduced_[0]));
      if (numel(before) != 1) return 0;
    }
    const Placements& lists = x_.placements();
    auto gathered = std::count_if(lists.begin(), lists.end(),
                                  [this](const Placement& one) { return is_reduced(one); });
    return gathered == 0 ? 0 : 2 * (gathered - 1);
  }

 private:
  // Returns the tensor without partial placements and with shards in ascending order.
  static DTensor settled(const DTensor& x) {
    Placements placements = x.placements();
    for (Placement& one : placements)
      if (one.is_partial()) one = Replicate();
    if (placements == x.placements() && x.spec().sharding.order.is_ascending()) return x;
    return x.redistribute_local(placements);
  }

  bool is_reduced(std::int64_t dim) const {
    return std::find(reduced_.begin(), reduced_.end(), dim) != reduced_.end();
  }
  bool is_reduced(const Placement& placement) const {
    return placement.splits() && is_reduced(placement.dim());
  }

  DTensorSpec result_spec() const {
    DTensorSpec spec = x_.spec();
    spec.dtype = DType::int64;
    Dims moved;
    Shape shape;
    for (std::int64_t dim = 0; dim < std::int64_t(x_.shape().size()); ++dim) {
      moved.push_back(std::int64_t(shape.size()));
      if (!is_reduced(dim)) shape.push_back(x_.shape()[std::size_t(dim)]);
      if (is_reduced(dim) && keepdim_) shape.push_back(1);
    }
    spec.shape = shape;
    for (Placement& one : spec.sharding.placements) {
      if (!one.splits()) continue;
      one = is_reduced(one) ? Replicate() : one.with_dim(moved[std::size_t(one.dim())]);
    }
    return spec;
  }

  Dims global_places(std::int64_t dim) const {
    const DTensorSpec& spec = x_.spec();
    Dims places;
    for (const IndexRun& run :
         local_index_runs(spec.shape, dim, spec.mesh().shape(), spec.groups->coordinate(),
                          spec.placements(), spec.sharding.order))
      for (std::int64_t i = 0; i < run.length; ++i) places.push_back(run.start + i);
    return places;
  }

  // Turns the places in the piece into places in the whole tensor.
  Tensor placed(const Tensor& local) const {
    Tensor result = local.clone();
    if (!result.has_elements()) return result;
    const Shape &piece = x_.local().shape(), &whole = x_.shape();
    std::vector<Dims> places;
    for (std::int64_t dim : reduced_) places.push_back(global_places(dim));
    for (std::int64_t& place : result.mutable_values<std::int64_t>()) {
      std::int64_t rest = place, stride = 1, global = 0;
      for (std::size_t i = reduced_.size(); i-- > 0;) {
        std::int64_t size = piece[std::size_t(reduced_[i])];
        global += places[i][std::size_t(rest % size)] * stride;
        rest /= size;
        stride *= whole[std::size_t(reduced_[i])];
      }
      place = global;
    }
    return result;
  }

  Found in_piece() const {
    const Tensor& piece = x_.local();
    Shape shape = piece.shape();
    bool is_empty = false;
    for (std::int64_t dim : reduced_) {
      is_empty |= shape[std::size_t(dim)] == 0;
      shape[std::size_t(dim)] = 1;
    }
    if (is_empty) return {identities(op_, shape, piece.dtype()), full(shape, DType::int64, -1)};
    std::optional<std::int64_t> dim;
    if (reduced_.size() == 1) dim = reduced_[0];
    bool is_max = op_ == ReduceOp::max;
    Tensor values = is_max ? amax(piece, reduced_, true) : amin(piece, reduced_, true);
    Tensor local = is_max ? argmax(piece, dim, true) : argmin(piece, dim, true);
    return {reshape(values, shape), reshape(placed(local), shape)};
  }

  Found among_ranks(const Found& own, std::int64_t mesh_dim) const {
    const ProcessGroup& group = x_.spec().groups->group(Dims{mesh_dim});
    std::int64_t along = reduced_[0];
    Found all = {all_gather(own.values.contiguous(), {.dim = along}, group),
                 all_gather(own.places.contiguous(), {.dim = along}, group)};
    auto of_member = [&](std::int64_t i) {
      NarrowRange slice = {.dim = along, .start = i, .length = 1};
      return Found{all.values.narrow(slice), all.places.narrow(slice)};
    };
    Found best = of_member(0);
    for (std::int64_t i = 1; i < group.size(); ++i) best = better_of(best, of_member(i), op_);
    return best;
  }

  ReduceOp op_;
  DTensor x_;
  Dims reduced_;
  bool keepdim_;
  DTensorSpec result_;
};

void observe(const OpCall& call, const PlaceSearch& search, const Tensor& result) {
  Placements given = DTensor::of(call.inputs[0]).placements();
  DispatchScope::emit({.op = call.op,
                       .given = {given},
                       .used = {given},
                       .outputs = {DTensor::of(result).placements()},
                       .gathers_of_unwaited = search.gathers_of_unwaited()});
}

}  // namespace

Tensor identities(ReduceOp op, const Shape& shape, DType dtype) {
  bool is_max = op == ReduceOp::max;
  if (is_floating_point(dtype)) {
    double greatest = std::numeric_limits<double>::infinity();
    return full(shape, dtype, is_max ? -greatest : greatest);
  }
  Tensor result = empty(shape, dtype);
  if (!result.has_elements()) return result;
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      T identity = is_max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      auto values = result.mutable_values<T>();
      std::fill(values.begin(), values.end(), identity);
    }
  });
  return result;
}

std::vector<Tensor> place_of_extreme(const OpCall& call, ReduceOp op) {
  infer_types(call.op, types_of(call.inputs), call.attributes);  // raises for wrong inputs
  PlaceSearch search(call, op);
  Tensor result = search.result();
  if (DispatchScope::is_observed()) observe(call, search, result);
  if (!call.out) return {result};
  const Placements& wanted = DTensor::of(*call.out).placements();
  return {DTensor::of(result).redistribute_local(wanted).as_tensor()};
}

}  // namespace simmesh
