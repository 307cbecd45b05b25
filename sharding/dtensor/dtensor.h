#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "collectives/work.h"
#include "sharding/placement/dtensor_spec.h"
#include "sharding/redistribute/planner.h"

namespace simmesh {

// RedistributeOptions are the options of a redistribution.
struct RedistributeOptions {
  PlannerChoice planner = PlannerChoice::automatic;
  ShardOrder order = {};  // of the target
  Topology topology = {};
  // is_async leaves the last collective under way; the first use of the result waits for it.
  bool is_async = false;
  // forward_dtype is the dtype to which the pieces are converted before anything moves, and that of
  // the result; by default the tensor's own. backward_dtype is the dtype to which a gradient is
  // converted before it moves back, by default the tensor's own; it arrives in the tensor's own.
  std::optional<DType> forward_dtype = {};
  std::optional<DType> backward_dtype = {};
};

// ToLocalOptions are the placements of the gradient that comes back; by default those of the
// tensor, with Replicate in place of partial placements.
struct ToLocalOptions {
  std::optional<Placements> grad_placements = {};
};

// DTensor is a logical array spread over a mesh, as one rank holds it: a local tensor and the spec.
// A cheap value. On a rank outside the mesh the local tensor is empty and every operation returns
// at once.
//
//   DTensor x = distribute_tensor(full, mesh, {Shard(0), Replicate()});
//   DTensor y = x.redistribute({Replicate(), Shard(1)});
//   Tensor again = y.full_tensor();
//
// Gradients flow back through from_local, redistribute, to_local and full_tensor, as PyTorch's do.
//
// Ops take distributed tensors as they take plain ones, and return such: see propagate for where
// they run and what comes out.
//
//   DTensor y = matmul(x, weight);
class DTensor {
 public:
  DTensor(DTensorSpec spec, Tensor local, Tensor mask = {});

  // From a distributed Tensor, as ops return it; raises a TypeError for another one.
  DTensor(const Tensor& tensor) : DTensor(of(tensor)) {}
  operator Tensor() const { return as_tensor(); }

  const DTensorSpec& spec() const { return place_->spec; }
  const DeviceMesh& mesh() const { return spec().mesh(); }
  const Placements& placements() const { return spec().placements(); }
  const Shape& shape() const { return spec().shape; }
  DType dtype() const { return spec().dtype; }

  // with_local returns a tensor with this one's shape, dtype and sharding and other elements; it is
  // not on the tape. lies_like is true if two tensors have the same shape, dtype and sharding on
  // one mesh.
  DTensor with_local(Tensor local, Tensor mask = {}) const;
  bool lies_like(const DTensor& other) const;
  // place_hash is equal for tensors for which lies_like is true.
  std::size_t place_hash() const;

  // local returns this rank's piece, without its part of the tape; it waits for a redistribution
  // that is under way.
  const Tensor& local() const;

  // to_local returns this rank's piece as a tensor whose gradients flow back to this one.
  Tensor to_local(const ToLocalOptions& options = {}) const;

  // redistribute returns the same logical tensor with other placements: collectives among the ranks
  // of the mesh. Raises, with PyTorch's classes, as validate_redistribute and validate_steps do.
  DTensor redistribute(const Placements& to, const RedistributeOptions& options = {},
                       CallSite site = CallSite::here()) const;

  // redistribute_local is the level below it: it also accepts targets with partial placements.
  DTensor redistribute_local(const Placements& to, const RedistributeOptions& options = {},
                             CallSite site = CallSite::here()) const;

  // redistribute_cost_us returns the planner's cost of redistribute_local: 0 where nothing is
  // communicated, infinite where a step has no price. Raises as redistribute_local does.
  double redistribute_cost_us(const Placements& to, const RedistributeOptions& options = {}) const;

  // redistribute_plan is the plan that redistribute_local, and redistribute where it refuses
  // nothing, carries out: the same plan, made once. Raises as redistribute_local does.
  std::shared_ptr<const Plan> redistribute_plan(const Placements& to,
                                                const RedistributeOptions& options = {}) const;

  // full_tensor returns the whole logical tensor.
  Tensor full_tensor(const ToLocalOptions& options = {}, CallSite site = CallSite::here()) const;

  // set_requires_grad makes this a leaf that requires a gradient. grad returns the gradient as it
  // came, with its own placements.
  void set_requires_grad(bool value = true);
  bool requires_grad() const { return tracking_ && tracking_->requires_grad(); }
  std::optional<DTensor> grad() const;

  // as_tensor returns this as a Tensor of the logical shape, for the tape and for ops; of is its
  // inverse, and raises a TypeError for a tensor that isn't distributed.
  Tensor as_tensor() const;
  static DTensor of(const Tensor& tensor);
  // in returns the DTensor in a distributed tensor, without its part of the tape and without a
  // copy: valid while the tensor exists, and until it gets another value. tensor_with_local is
  // with_local(local, mask).as_tensor(). Both are for ops, which are called often.
  static const DTensor& in(const Tensor& tensor);
  Tensor tensor_with_local(Tensor&& local, const Tensor& mask) const;

  // is_copied_view is true for the result of a view op whose input was redistributed first, and for
  // views of it: the elements are a copy, so an op in place refuses to write them. copied_view
  // returns this tensor as such a result.
  bool is_copied_view() const { return is_copied_view_; }
  DTensor copied_view() const {
    DTensor result = *this;
    result.is_copied_view_ = true;
    return result;
  }

 private:
  struct Value {
    explicit Value(Tensor&& piece, std::optional<Work>&& work = {})
        : local(std::move(piece)), pending(std::move(work)) {}

    Tensor local;
    std::optional<Work> pending;
  };
  // Route is a redistribution from one place to another.
  struct Route;
  // Place is a spec, and the last route from it: programs redistribute the same way again and
  // again.
  struct Place {
    DTensorSpec spec;
    std::shared_ptr<Route> route = nullptr;
    int routes_in_a_row = 0;  // that end here and are kept
    std::size_t hash = 0;     // once it is asked for
  };
  static constexpr int routes_in_a_row_max = 3;

  DTensor(std::shared_ptr<Place> place, Tensor&& local, std::optional<Work>&& pending);
  PlanRequest request_for(const Placements& to, const RedistributeOptions& options) const;
  Route& route_to(const Placements& to, const RedistributeOptions& options,
                  bool is_validated) const;
  Route& new_route(const Placements& to, const RedistributeOptions& options,
                   bool is_validated) const;
  void log_route(const Route& route) const;
  std::size_t flattened_meshes() const;
  DTensor redistributed_as(const Placements& to, const RedistributeOptions& options,
                           bool is_validated, const CallSite& site) const;
  DTensor taken(Route& route, bool is_async, const CallSite& site) const;
  DTensor take(Route& route, bool is_async, const CallSite& site) const;
  DTensor arrived(Route& route, Tensor&& local, std::optional<Work>&& pending) const;

  std::shared_ptr<Place> place_;
  std::shared_ptr<Value> value_;
  std::shared_ptr<const Tensor> mask_;  // null for none
  TrackingPtr tracking_;
  bool is_copied_view_ = false;
};

// replace_value gives a distributed tensor and all its copies another value, as
// torch.utils.swap_tensors does; returns the tensor with the shape and dtype of that value. Raises
// a TypeError for a tensor that isn't distributed.
Tensor replace_value(const Tensor& tensor, const DTensor& value);

// FromLocalOptions are what from_local can't see in one rank's piece.
struct FromLocalOptions {
  // The global shape. Without it, each local size counts once for each rank that shards it, which
  // is wrong for uneven pieces.
  std::optional<Shape> shape = {};
  ShardOrder order = {};
  // check_shapes makes the ranks compare the shapes they infer, at the price of one small
  // collective a mesh dim. A given shape is checked against the own piece without any.
  bool check_shapes = true;
  Tensor mask = {};  // of MaskPartial
  // The placements of a gradient before the local piece gets it; see ToLocalOptions.
  std::optional<Placements> grad_placements = {};
};

// from_local makes a DTensor of the ranks' own pieces. Raises a ValueError where a piece
// doesn't have the shape that the placements give it, and a RuntimeError for a piece that is a
// DTensor itself.
DTensor from_local(const Tensor& local, const DeviceMesh& mesh, const Placements& placements,
                   const FromLocalOptions& options = {}, CallSite site = CallSite::here());

// Uses current_mesh().
DTensor from_local(const Tensor& local, const Placements& placements,
                   const FromLocalOptions& options = {}, CallSite site = CallSite::here());

// DistributeOptions say whose tensor is distributed, and in which order shards apply.
struct DistributeOptions {
  // The coordinate-0 rank of every mesh dim sends its tensor to the others; otherwise every rank
  // cuts its own.
  bool from_first_rank = true;
  ShardOrder order = {};
};

// distribute_tensor cuts a tensor that a rank holds whole into pieces: a leaf of the tape, which
// requires a gradient where the tensor does. A DTensor that lies on this mesh with these placements
// comes back as it is. Raises a ValueError for a DTensor of another mesh or with other placements,
// and for partial placements of a plain tensor.
DTensor distribute_tensor(const Tensor& full, const DeviceMesh& mesh, const Placements& placements,
                          const DistributeOptions& options = {}, CallSite site = CallSite::here());

// Uses current_mesh().
DTensor distribute_tensor(const Tensor& full, const Placements& placements,
                          const DistributeOptions& options = {}, CallSite site = CallSite::here());

}  // namespace simmesh
