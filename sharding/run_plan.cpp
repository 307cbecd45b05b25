#include <cmath>
#include <cstring>

#include <simmesh/collectives/collectives.h>
#include <simmesh/core/arithmetic/combine.h>
#include <simmesh/core/check/check.h>
#include <simmesh/core/check/error.h>
#include <simmesh/core/tensor/chunk.h>
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
  bool is_plain_cut() const { return step_.to.is_shard(); }
  IndexRuns runs_of(const Sharding& sharding, std::int64_t dim, DimSpan coordinate) const {
    return local_index_runs(run_.global_shape, dim, mesh_shape_, coordinate, sharding.placements,
                            sharding.order);
  }
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

// What a pending placement asks of the operand before it is reduced: masked rows are zero, norms are powers.
Tensor StepRun::as_operand(Tensor local) const {
  if (step_.from.kind() == Placement::Kind::norm_partial) return norm_to_sum(local, step_.from.norm());
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
  if (step_.from.kind() == Placement::Kind::norm_partial) return sum_to_norm(sum, step_.from.norm());
  if (step_.divide_by == 1) return sum;
  divide(sum.mutable_data(), double(step_.divide_by), sum.dtype(), sum.element_count());
  return sum;
}

PlanResult StepRun::from_pending(Tensor local, bool is_async) const {
  ReduceOp op = step_.divide_by == 1 ? step_.from.reduce_op() : ReduceOp::sum;
  Tensor operand = as_operand(std::move(local));
  bool needs_finish = step_.divide_by != 1 || step_.from.kind() == Placement::Kind::norm_partial;
  if (is_plain_cut()) {
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

// Pieces of plain shards follow one another in the order of the members. Others are put in order by their indices.
Tensor StepRun::gather(const Tensor& local) const {
  std::int64_t dim = step_.from.dim();
  Tensor pieces = all_gather(local, {.dim = dim, .uneven = true}, group_, run_.site);
  if (step_.from.is_shard()) return pieces;
  SIMMESH_CHECK(step_.mesh_dims.size() == 1, "strided shards are not gathered by merged steps");
  std::size_t mesh_dim = std::size_t(step_.mesh_dims[0]);
  Dims coordinate = run_.groups.coordinate();
  IndexRuns held;
  for (std::int64_t member = 0; member < mesh_shape_[mesh_dim]; ++member) {
    coordinate[mesh_dim] = member;
    for (const IndexRun& run : runs_of(before_, dim, coordinate)) held.push_back(run);
  }
  Sharding gathered = before_;
  gathered.placements[mesh_dim] = Replicate();
  IndexRuns wanted = runs_of(gathered, dim, run_.groups.coordinate());
  return cut_indices(pieces, {dim, held, wanted});
}

// This rank's share of what it holds whole.
Tensor StepRun::cut(const Tensor& whole) const {
  std::int64_t dim = step_.to.dim();
  Share share{.members = group_.size(), .index = group_.rank()};
  if (is_plain_cut()) {
    IndexRun piece = chunk(whole.size(dim), share);
    return whole.narrow({dim, piece.start, piece.length}).clone();
  }
  IndexRuns held;
  append_run(held, {0, whole.size(dim)});
  return cut_indices(whole, {dim, held, take_share(held, step_.to, share)});
}

PlanResult StepRun::from_split(Tensor local, bool is_async) const {
  bool both_plain = step_.from.is_shard() && step_.to.is_shard();
  if (both_plain)
    return {all_to_all(local,
                       {.scatter_dim = step_.to.dim(), .gather_dim = step_.from.dim(), .uneven = true},
                       group_, run_.site),
            {}};
  if (is_async && step_.from.is_shard() && step_.to.is_replicate())
    return {{}, all_gather_async(local, {.dim = step_.from.dim(), .uneven = true}, group_, run_.site)};
  Tensor whole = gather(local);
  return {step_.to.is_replicate() ? whole : cut(whole), {}};
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

}  // namespace

PlanResult run_plan(const Plan& plan, Tensor local, const PlanRun& run, bool is_async) {
  PlanResult result{std::move(local), {}};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (does_nothing(step, run.groups.mesh().shape())) continue;
    StepRun step_run(plan, i, run);
    bool may_wait = is_async && i + 1 == plan.steps.size();
    if (step.from.is_pending()) result = step_run.from_pending(result.local, may_wait);
    else if (step.from.splits()) result = step_run.from_split(result.local, may_wait);
    else result.local = step_run.from_replicate(result.local);
  }
  return result;
}

}  // namespace simmesh
