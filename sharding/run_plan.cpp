#include <algorithm>
#include <cmath>
#include <cstring>

#include <simmesh/collectives/collectives.h>
#include <simmesh/core/arithmetic/combine.h>
#include <simmesh/core/check/check.h>
#include <simmesh/core/check/error.h>
#include <simmesh/sharding/index_cut.h>
#include <simmesh/sharding/local_shape.h>
#include <simmesh/sharding/norm.h>
#include <simmesh/sharding/run_plan.h>

namespace simmesh {

namespace {

// One step on one rank.
class StepRun {
 public:
  StepRun(const Plan& plan, std::size_t index, const PlanRun& run)
      : step_(plan.steps[index]),
        before_(plan.before(index)),
        run_(run),
        mesh_shape_(run.groups.mesh().shape()),
        group_(run.groups.group(step_.mesh_dims)) {}

  PlanResult from_pending(Tensor local, bool is_async) const;
  PlanResult from_split(Tensor local, bool is_async) const;
  Tensor from_replicate(const Tensor& local) const;

 private:
  IndexRuns runs_of(const Sharding& sharding, std::int64_t dim, DimSpan coordinate) const {
    return local_index_runs(run_.global_shape, dim, mesh_shape_, coordinate, sharding.placements,
                            sharding.order);
  }
  IndexRuns own_runs(const Sharding& sharding, std::int64_t dim) const {
    return runs_of(sharding, dim, run_.groups.coordinate());
  }
  Dims coordinate_of(std::int64_t member) const;
  IndexRuns held_by_group() const;
  bool applies_last(const Placement& split) const;
  bool gathers_in_order() const;
  bool cuts_by_chunks() const;
  Tensor gather(const Tensor& local) const;
  Tensor cut(const Tensor& whole) const;
  Tensor as_operand(Tensor local) const;
  Tensor finish_reduction(Tensor sum) const;

  const PlanStep& step_;
  const Sharding& before_;
  const PlanRun& run_;
  const Shape& mesh_shape_;
  const ProcessGroup& group_;
};

bool has_no_elements(DimSpan shape) { return element_count(shape) == 0; }

Dims StepRun::coordinate_of(std::int64_t member) const {
  Dims coordinate = run_.groups.coordinate();
  for (std::size_t i = step_.mesh_dims.size(); i-- > 0;) {
    auto mesh_dim = std::size_t(step_.mesh_dims[i]);
    coordinate[mesh_dim] = member % mesh_shape_[mesh_dim];
    member /= mesh_shape_[mesh_dim];
  }
  return coordinate;
}

// The members' pieces along the dim that the step gathers, one after the other.
IndexRuns StepRun::held_by_group() const {
  IndexRuns held;
  for (std::int64_t member = 0; member < group_.size(); ++member)
    for (const IndexRun& run : runs_of(before_, step_.from.dim(), coordinate_of(member)))
      append_run(held, run);
  return held;
}

// Whether no other shard of the tensor dim is applied after this one. Plain shards come off and go
// on innermost first, so only strided and ragged ones are in question. A tensor without elements
// has nothing to misplace.
bool StepRun::applies_last(const Placement& split) const {
  if (has_no_elements(run_.global_shape)) return true;
  auto first = std::size_t(step_.mesh_dims.front());
  for (std::size_t mesh_dim = first + 1; mesh_dim < before_.placements.size(); ++mesh_dim) {
    const Placement& other = before_.placements[mesh_dim];
    bool is_own = std::count(step_.mesh_dims.begin(), step_.mesh_dims.end(), mesh_dim) > 0;
    if (!is_own && other.splits(split.dim()) && !(other.is_shard() && split.is_shard()))
      return false;
  }
  return true;
}

// Whether the pieces of the members in their order are the piece after the step.
bool StepRun::gathers_in_order() const {
  if (!step_.from.is_shard()) return false;
  return applies_last(step_.from) || held_by_group() == own_runs(step_.after, step_.from.dim());
}

// Whether the piece of each member after the step is its chunk of what all of them hold before.
bool StepRun::cuts_by_chunks() const {
  if (!step_.to.is_shard()) return false;
  if (applies_last(step_.to)) return true;
  std::int64_t dim = step_.to.dim();
  IndexRuns held = own_runs(before_, dim);
  for (std::int64_t member = 0; member < group_.size(); ++member)
    if (take_share(held, step_.to, {.members = group_.size(), .index = member}) !=
        runs_of(step_.after, dim, coordinate_of(member)))
      return false;
  return true;
}

// What a pending placement asks of the operand before it is reduced: masked rows are zero, norms
// are powers.
Tensor StepRun::as_operand(Tensor local) const {
  if (step_.from.kind() == Placement::Kind::norm_partial)
    return norm_to_sum(local, step_.from.norm());
  if (step_.from.kind() != Placement::Kind::mask_partial || !run_.mask.is_defined()) return local;
  local = local.clone();
  Tensor mask = run_.mask.contiguous();
  std::int64_t rows = mask.element_count();
  std::size_t row_bytes = rows == 0 ? 0 : local.bytes() / std::size_t(rows);
  std::byte* data = local.mutable_data();
  for (bool is_masked : mask.values<bool>()) {
    if (is_masked) std::memset(data, 0, row_bytes);
    data += row_bytes;
  }
  return local;
}

Tensor StepRun::finish_reduction(Tensor sum) const {
  if (step_.from.kind() == Placement::Kind::norm_partial)
    return sum_to_norm(sum, step_.from.norm());
  if (step_.divide_by == 1) return sum;
  divide(sum.mutable_data(), double(step_.divide_by), sum.dtype(), sum.element_count());
  return sum;
}

PlanResult StepRun::from_pending(Tensor local, bool is_async) const {
  ReduceOp op = step_.divide_by == 1 ? step_.from.reduce_op() : ReduceOp::sum;
  Tensor operand = as_operand(std::move(local));
  bool needs_finish = step_.divide_by != 1 || step_.from.kind() == Placement::Kind::norm_partial;
  if (cuts_by_chunks()) {
    Along along{.dim = step_.to.dim(), .uneven = true};
    if (is_async && !needs_finish)
      return {{}, reduce_scatter_async(operand, op, along, group_, run_.site)};
    return {finish_reduction(reduce_scatter(operand, op, along, group_, run_.site)), {}};
  }
  if (is_async && !needs_finish && step_.to.is_replicate())
    return {{}, all_reduce_async(operand, op, group_, run_.site)};
  Tensor sum = finish_reduction(all_reduce(operand, op, group_, run_.site));
  return {step_.to.is_replicate() ? sum : cut(sum), {}};
}

// What the members hold together, along the gathered dim as this rank needs it after the step.
Tensor StepRun::gather(const Tensor& local) const {
  std::int64_t dim = step_.from.dim();
  Tensor pieces = all_gather(local, {.dim = dim, .uneven = true}, group_, run_.site);
  bool is_whole = !step_.to.splits(dim);
  if (has_no_elements(run_.global_shape) || (is_whole && gathers_in_order())) return pieces;
  IndexRuns held = held_by_group(), wanted = own_runs(step_.after, dim);
  return held == wanted ? pieces : cut_indices(pieces, {dim, held, wanted});
}

// This rank's share of what it holds whole.
Tensor StepRun::cut(const Tensor& whole) const {
  std::int64_t dim = step_.to.dim();
  if (step_.to.is_shard() && applies_last(step_.to)) {
    IndexRun piece = chunk(whole.size(dim), {.members = group_.size(), .index = group_.rank()});
    return whole.narrow({dim, piece.start, piece.length}).clone();
  }
  if (has_no_elements(run_.global_shape)) return whole;
  IndexRuns held = own_runs(before_, dim), wanted = own_runs(step_.after, dim);
  return cut_indices(whole, {dim, held, wanted});
}

PlanResult StepRun::from_split(Tensor local, bool is_async) const {
  bool same_dim = step_.to.splits(step_.from.dim());
  if (!same_dim && step_.to.is_shard() && gathers_in_order() && cuts_by_chunks())
    return {
        all_to_all(local,
                   {.scatter_dim = step_.to.dim(), .gather_dim = step_.from.dim(), .uneven = true},
                   group_, run_.site),
        {}};
  if (is_async && step_.to.is_replicate() && gathers_in_order())
    return {{},
            all_gather_async(local, {.dim = step_.from.dim(), .uneven = true}, group_, run_.site)};
  Tensor gathered = gather(local);
  bool is_done = step_.to.is_replicate() || (same_dim && !has_no_elements(run_.global_shape));
  return {is_done ? gathered : cut(gathered), {}};
}

Tensor StepRun::from_replicate(const Tensor& local) const {
  if (step_.to.splits()) return cut(local);
  bool is_sum = step_.to.is_pending() && step_.to.reduce_op() == ReduceOp::sum;
  if (!is_sum) return local.clone();
  Tensor share = local.clone();
  if (share.element_count() > 0)
    divide(share.mutable_data(), double(group_.size()), share.dtype(), share.element_count());
  return share;
}

bool does_nothing(const PlanStep& step, DimSpan mesh_shape) {
  for (std::int64_t dim : step.mesh_dims)
    if (mesh_shape[std::size_t(dim)] != 1) return false;
  return true;
}

// A tensor without elements takes the shape that it must have; whatever moved was empty.
Tensor empty_piece(const PlanStep& step, const PlanRun& run, DType dtype) {
  return empty(compute_local_shape_and_global_offset(run.global_shape, run.groups.mesh().shape(),
                                                     run.groups.coordinate(), step.after.placements,
                                                     step.after.order)
                   .shape,
               dtype);
}

}  // namespace

PlanResult run_plan(const Plan& plan, Tensor local, const PlanRun& run, bool is_async) {
  PlanResult result{std::move(local), {}};
  bool is_empty = has_no_elements(run.global_shape);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (does_nothing(step, run.groups.mesh().shape())) continue;
    StepRun step_run(plan, i, run);
    bool may_wait = is_async && !is_empty && i + 1 == plan.steps.size();
    if (step.from.is_pending())
      result = step_run.from_pending(result.local, may_wait);
    else if (step.from.splits())
      result = step_run.from_split(result.local, may_wait);
    else
      result.local = step_run.from_replicate(result.local);
    if (is_empty) result.local = empty_piece(step, run, result.local.dtype());
  }
  return result;
}

}  // namespace simmesh
