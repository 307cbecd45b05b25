#include "sharding/redistribute/run_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "collectives/collectives.h"
#include "core/arithmetic/reductions/combine.h"
#include "core/arithmetic/sums/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/frames.h"
#include "core/engine/world.h"
#include "core/ops/compute_mode.h"
#include "sharding/placement/index_cut.h"
#include "sharding/placement/local_shape.h"
#include "sharding/placement/norm.h"

namespace simmesh {

namespace {

bool sums_are_exact() { return this_rank().world().options().arithmetic.is_exact(); }

// One step on one rank.
class StepRun {
 public:
  StepRun(const Plan& plan, std::size_t index, const PlanRun& run)
      : step_(plan.steps[index]),
        before_(plan.before(index)),
        run_(run),
        mesh_shape_(run.groups.mesh().shape()),
        group_(run.groups.group(step_.mesh_dims)) {}

  PlanResult from_partial(const Tensor& local, bool is_async) const;
  PlanResult from_split(const Tensor& local, bool is_async) const;
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
  bool changes_operand() const;
  bool needs_finish() const;
  PlanResult reduce(const Tensor& operand, bool is_async) const;
  Tensor all_gathered(const Tensor& local) const;

  // Functions that compute with lists of indices or tensors of their own are apart from those that
  // wait: the stack of a waiting rank holds only the frames to which it returns.
  SIMMESH_OWN_FRAME bool gathers_held_in_order() const;
  SIMMESH_OWN_FRAME bool cuts_held_by_chunks() const;
  SIMMESH_OWN_FRAME Tensor placed(const Tensor& pieces) const;
  SIMMESH_OWN_FRAME Tensor cut(const Tensor& whole) const;
  SIMMESH_OWN_FRAME Tensor embedded(const Tensor& piece) const;
  SIMMESH_OWN_FRAME Tensor as_operand(Tensor local) const;
  SIMMESH_OWN_FRAME Tensor finish_reduction(Tensor sum) const;
  SIMMESH_OWN_FRAME Tensor finished(const Tensor& operand, ReduceOp op,
                                    const Along* scattered) const;
  SIMMESH_OWN_FRAME PlanResult reduce_changed(const Tensor& local, bool is_async) const;
  SIMMESH_OWN_FRAME PlanResult gather_and_cut(const Tensor& local) const;

  const PlanStep& step_;
  const Sharding& before_;
  const PlanRun& run_;
  const Shape& mesh_shape_;
  const ProcessGroup& group_;
};

bool has_no_elements(DimSpan shape) { return numel(shape) == 0; }

Dims StepRun::coordinate_of(std::int64_t member) const {
  Dims coordinate = run_.groups.coordinate();
  for (std::size_t i = step_.mesh_dims.size(); i-- > 0;) {
    auto mesh_dim = std::size_t(step_.mesh_dims[i]);
    coordinate[mesh_dim] = member % mesh_shape_[mesh_dim];
    member /= mesh_shape_[mesh_dim];
  }
  return coordinate;
}

// Returns the members' pieces along the dim that the step gathers, one after the other.
IndexRuns StepRun::held_by_group() const {
  IndexRuns held;
  for (std::int64_t member = 0; member < group_.size(); ++member)
    for (const IndexRun& run : runs_of(before_, step_.from.dim(), coordinate_of(member)))
      append_run(held, run);
  return held;
}

// True if no other shard of the tensor dim is applied after this one. Plain shards are removed and
// added innermost first, so only strided and ragged ones matter. A tensor without elements has
// nothing to misplace.
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

// True if the pieces of the members, in their order, are the piece after the step.
bool StepRun::gathers_in_order() const {
  if (!step_.from.is_shard()) return false;
  return applies_last(step_.from) || gathers_held_in_order();
}

bool StepRun::gathers_held_in_order() const {
  return held_by_group() == own_runs(step_.after, step_.from.dim());
}

// True if the piece of each member after the step is its chunk of what all of them hold before.
bool StepRun::cuts_by_chunks() const {
  if (!step_.to.is_shard()) return false;
  return applies_last(step_.to) || cuts_held_by_chunks();
}

bool StepRun::cuts_held_by_chunks() const {
  std::int64_t dim = step_.to.dim();
  IndexRuns held = own_runs(before_, dim);
  for (std::int64_t member = 0; member < group_.size(); ++member)
    if (take_share(held, step_.to, {.members = group_.size(), .index = member}) !=
        runs_of(step_.after, dim, coordinate_of(member)))
      return false;
  return true;
}

bool StepRun::changes_operand() const {
  return step_.from.kind() == Placement::Kind::norm_partial ||
         (step_.from.kind() == Placement::Kind::mask_partial && run_.mask);
}

bool StepRun::needs_finish() const {
  return step_.divide_by != 1 || step_.from.kind() == Placement::Kind::norm_partial;
}

// Returns the operand of the reduction of a partial placement: masked rows become zero, norms
// become powers.
Tensor StepRun::as_operand(Tensor local) const {
  if (step_.from.kind() == Placement::Kind::norm_partial)
    return norm_to_sum(local, step_.from.norm());
  local = local.clone();
  Tensor mask = run_.mask->contiguous();
  std::int64_t rows = mask.numel();
  if (!local.has_elements()) return local;
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
  if (step_.divide_by == 1 || !sum.has_elements()) return sum;
  if (!is_unrounded(sum)) {
    divide(sum.mutable_data(), double(step_.divide_by), sum.dtype(), sum.numel());
    return sum;
  }
  CarriedSums mean = divided(unrounded(sum), double(step_.divide_by));
  if (keeps_unrounded())
    write_unrounded(sum, std::move(mean));
  else
    mean.round(sum.mutable_data(), sum.dtype());
  return sum;
}

PlanResult StepRun::from_partial(const Tensor& local, bool is_async) const {
  return changes_operand() ? reduce_changed(local, is_async) : reduce(local, is_async);
}

PlanResult StepRun::reduce_changed(const Tensor& local, bool is_async) const {
  return reduce(as_operand(local), is_async);
}

PlanResult StepRun::reduce(const Tensor& operand, bool is_async) const {
  ReduceOp op = step_.divide_by == 1 ? step_.from.reduce_op() : ReduceOp::sum;
  bool may_wait = is_async && !needs_finish();
  bool by_chunks = cuts_by_chunks();
  Along along{.dim = by_chunks ? step_.to.dim() : 0, .uneven = true};
  if (may_wait && by_chunks)
    return {{}, reduce_scatter_async(operand, op, along, group_, run_.site)};
  if (may_wait && step_.to.is_replicate())
    return {{}, all_reduce_async(operand, op, group_, run_.site)};
  PlanResult result;
  if (needs_finish())
    result.local = finished(operand, op, by_chunks ? &along : nullptr);
  else
    result.local = by_chunks ? reduce_scatter(operand, op, along, group_, run_.site)
                             : all_reduce(operand, op, group_, run_.site);
  if (!by_chunks && !step_.to.is_replicate()) result.local = cut(result.local);
  return result;
}

// Finishes a reduction: a sum that is divided is rounded only after the division.
Tensor StepRun::finished(const Tensor& operand, ReduceOp op, const Along* scattered) const {
  Tensor sum;
  {
    KeepUnrounded scope;
    sum = scattered ? reduce_scatter(operand, op, *scattered, group_, run_.site)
                    : all_reduce(operand, op, group_, run_.site);
  }
  return finish_reduction(std::move(sum));
}

Tensor StepRun::all_gathered(const Tensor& local) const {
  return all_gather(local, {.dim = step_.from.dim(), .uneven = true}, group_, run_.site);
}

// Returns what the members hold together, in the order along the gathered dim that this rank needs
// after the step.
Tensor StepRun::placed(const Tensor& pieces) const {
  std::int64_t dim = step_.from.dim();
  IndexRuns held = held_by_group(), wanted = own_runs(step_.after, dim);
  return held == wanted ? pieces : cut_indices(pieces, {dim, held, wanted});
}

// Returns this rank's share of what it holds whole.
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

// Returns this rank's piece at its place among zeros.
Tensor StepRun::embedded(const Tensor& piece) const {
  if (has_no_elements(run_.global_shape)) return piece;
  std::int64_t dim = step_.from.dim();
  IndexRuns held = own_runs(before_, dim), wanted = own_runs(step_.after, dim);
  return embed_indices(piece, {dim, held, wanted});
}

PlanResult StepRun::from_split(const Tensor& local, bool is_async) const {
  if (embeds_shard(step_.from, step_.to)) return {embedded(local), {}};
  bool same_dim = step_.to.splits(step_.from.dim());
  if (same_dim || !gathers_in_order()) return gather_and_cut(local);
  if (step_.to.is_replicate()) {
    if (!is_async) return {all_gathered(local), {}};
    return {{},
            all_gather_async(local, {.dim = step_.from.dim(), .uneven = true}, group_, run_.site)};
  }
  if (!step_.to.is_shard() || !cuts_by_chunks()) return gather_and_cut(local);
  return {
      all_to_all(local,
                 {.scatter_dim = step_.to.dim(), .gather_dim = step_.from.dim(), .uneven = true},
                 group_, run_.site),
      {}};
}

PlanResult StepRun::gather_and_cut(const Tensor& local) const {
  Tensor gathered = all_gathered(local);
  bool is_empty = has_no_elements(run_.global_shape);
  bool same_dim = step_.to.splits(step_.from.dim());
  if (!is_empty && (same_dim || !gathers_in_order())) gathered = placed(gathered);
  bool is_done = step_.to.is_replicate() || (same_dim && !is_empty);
  return {is_done ? gathered : cut(gathered), {}};
}

Tensor StepRun::from_replicate(const Tensor& local) const {
  if (step_.to.splits()) return cut(local);
  // The indices of a look-up stay whole: the look-up skips those that aren't the rank's.
  bool is_sum = step_.to.is_partial() && step_.to.reduce_op() == ReduceOp::sum &&
                step_.to.kind() != Placement::Kind::mask_partial;
  if (!is_sum) return local.clone();
  Tensor share = local.clone();
  bool has_elements = share.numel() > 0 && share.has_elements();
  bool is_exact = sums_are_exact() && is_floating_point(share.dtype());
  // The shares of all members add up to the replicated value.
  if (has_elements && is_exact)
    write_unrounded(share, divided(unrounded(share), double(group_.size())));
  else if (has_elements)
    divide(share.mutable_data(), double(group_.size()), share.dtype(), share.numel());
  return share;
}

bool does_nothing(const PlanStep& step, DimSpan mesh_shape) {
  for (std::int64_t dim : step.mesh_dims)
    if (mesh_shape[std::size_t(dim)] != 1) return false;
  return true;
}

// A tensor without elements takes the shape that it must have; whatever moved was empty.
SIMMESH_OWN_FRAME Tensor empty_piece(const PlanStep& step, const PlanRun& run, DType dtype) {
  return empty(compute_local_shape_and_global_offset(run.global_shape, run.groups.mesh().shape(),
                                                     run.groups.coordinate(), step.after.placements,
                                                     step.after.order)
                   .shape,
               dtype);
}

// Sums stay unrounded as long as a placement is partial.
class SumsOfStep {
 public:
  explicit SumsOfStep(const PlanStep& step)
      : scope_(compute_mode().keeps_unrounded || has_partial(step.after.placements)) {}

 private:
  KeepUnrounded scope_;
};
// In arithmetics other than exact nothing is kept, which costs a waiting rank no memory.
struct NoSums {
  explicit NoSums(const PlanStep&) {}
};
template <class Sums>
SIMMESH_CALLERS_FRAME PlanResult run_steps(const Plan& plan, const Tensor& local,
                                           const PlanRun& run, bool is_async) {
  PlanResult result;
  const Tensor* held = &local;
  bool is_empty = has_no_elements(run.global_shape);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (does_nothing(step, run.groups.mesh().shape())) continue;
    StepRun step_run(plan, i, run);
    bool may_wait = is_async && !is_empty && i + 1 == plan.steps.size();
    [[maybe_unused]] Sums sums(step);
    if (step.from.is_partial())
      result = step_run.from_partial(*held, may_wait);
    else if (step.from.splits())
      result = step_run.from_split(*held, may_wait);
    else
      result.local = step_run.from_replicate(*held);
    if (is_empty) result.local = empty_piece(step, run, result.local.dtype());
    held = &result.local;
  }
  if (held == &local) result.local = local;
  return result;
}

SIMMESH_OWN_FRAME PlanResult run_steps_exactly(const Plan& plan, const Tensor& local,
                                               const PlanRun& run, bool is_async) {
  return run_steps<SumsOfStep>(plan, local, run, is_async);
}

}  // namespace

PlanResult run_plan(const Plan& plan, const Tensor& local, const PlanRun& run, bool is_async) {
  if (sums_are_exact()) return run_steps_exactly(plan, local, run, is_async);
  return run_steps<NoSums>(plan, local, run, is_async);
}

}  // namespace simmesh
