#include "sharding/paddle/reshard_plan.h"

#include <algorithm>

#include "core/check/error.h"
#include "sharding/placement/local_shape.h"

namespace simmesh::paddle {

namespace {

// Returns the mesh dims that cut a tensor dim, outermost first.
Dims cuts_of(PlacementSpan placements, std::int64_t tensor_dim) {
  Dims cuts;
  for (std::size_t mesh_dim = 0; mesh_dim < placements.size(); ++mesh_dim)
    if (placements[mesh_dim].is_shard(tensor_dim)) cuts.push_back(std::int64_t(mesh_dim));
  return cuts;
}

// ReshardPlanner writes the steps down and keeps the placements that they lead to.
class ReshardPlanner {
 public:
  ReshardPlanner(DimSpan shape, DimSpan mesh_shape, PlacementSpan from, PlacementSpan to)
      : shape_(shape), mesh_shape_(mesh_shape), to_(to), now_(from.begin(), from.end()) {
    plan_.from.placements = now_;
    plan_.to.placements = {to.begin(), to.end()};
    for (std::int64_t dim = 0; dim < std::int64_t(shape.size()); ++dim)
      if (cuts_of(from, dim) != cuts_of(to, dim)) changed_.push_back(dim);
    std::reverse(changed_.begin(), changed_.end());
  }

  Plan run() {
    bool is_exchange = now_.size() == 1 && now_[0].is_shard() && to_[0].is_shard();
    if (is_exchange && now_[0] != to_[0])
      add(0, to_[0]);
    else
      add_phases();
    return std::move(plan_);
  }

 private:
  void add_phases() {
    for (std::size_t mesh_dim = 0; mesh_dim < now_.size(); ++mesh_dim)
      if (now_[mesh_dim].is_plain_partial() && !to_[mesh_dim].is_shard() &&
          now_[mesh_dim] != to_[mesh_dim])
        add(mesh_dim, Replicate());
    for (std::int64_t dim : changed_) {
      Dims cuts = cuts_of(now_, dim);
      for (std::size_t i = cuts.size(); i-- > 0;) add(std::size_t(cuts[i]), Replicate());
    }
    for (std::size_t mesh_dim = 0; mesh_dim < now_.size(); ++mesh_dim)
      if (to_[mesh_dim].is_plain_partial() && !now_[mesh_dim].is_plain_partial())
        add(mesh_dim, to_[mesh_dim]);
    for (std::int64_t dim : changed_)
      for (std::int64_t mesh_dim : cuts_of(to_, dim)) add(std::size_t(mesh_dim), Shard(dim));
  }

  void add(std::size_t mesh_dim, const Placement& to) {
    PlanStep step;
    step.mesh_dims = {std::int64_t(mesh_dim)};
    step.from = now_[mesh_dim];
    step.to = to;
    if (step.from.is_plain_partial() && to.is_shard()) require_even(mesh_dim, to.dim());
    if (step.from.is_plain_partial() && step.from.reduce_op() == ReduceOp::avg)
      step.divide_by = mesh_shape_[mesh_dim];
    now_[mesh_dim] = to;
    step.after.placements = now_;
    plan_.steps.push_back(std::move(step));
  }

  // A reduce-scatter pads a whole tensor dim, but not the pieces of one that is already cut.
  void require_even(std::size_t mesh_dim, std::int64_t tensor_dim) const {
    if (cuts_of(now_, tensor_dim).empty()) return;
    Dims coordinate(mesh_shape_.size(), 0);
    do {
      std::int64_t piece =
          compute_local_shape_and_global_offset(shape_, mesh_shape_, coordinate, now_)
              .shape[std::size_t(tensor_dim)];
      if (piece % mesh_shape_[mesh_dim] != 0)
        raise(ErrorKind::value_error, "sharding/paddle",
              "(InvalidArgument) dim[0] ({}) is not divisible by nranks({}): expected pieces of "
              "tensor dim {} that mesh dim {} can cut evenly",
              piece, mesh_shape_[mesh_dim], tensor_dim, mesh_dim);
    } while (next_index(coordinate, mesh_shape_));
  }

  DimSpan shape_;
  DimSpan mesh_shape_;
  PlacementSpan to_;
  Placements now_;
  std::vector<std::int64_t> changed_;  // tensor dims, last to first
  Plan plan_;
};

}  // namespace

Plan plan_reshard(DimSpan shape, DimSpan mesh_shape, PlacementSpan from, PlacementSpan to) {
  check_sharding(from, shape, mesh_shape);
  check_sharding(to, shape, mesh_shape);
  return ReshardPlanner(shape, mesh_shape, from, to).run();
}

}  // namespace simmesh::paddle
