#include "sharding/paddle/reshard.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/ops/shapes/joining.h"
#include "sharding/paddle/partial_value.h"
#include "sharding/paddle/reshard_plan.h"
#include "sharding/placement/local_shape.h"
#include "sharding/redistribute/run_plan.h"

namespace simmesh::paddle {

namespace {

ProcessMeshLayout layout_of(const DeviceMesh& mesh, const Placements& placements) {
  return {.mesh_shape = mesh.shape(), .ranks = mesh.ranks(), .placements = placements};
}

Dims coordinate_at(std::int64_t position, DimSpan mesh_shape) {
  Dims coordinate(mesh_shape.size(), 0);
  for (std::size_t dim = mesh_shape.size(); dim-- > 0;) {
    coordinate[dim] = position % mesh_shape[dim];
    position /= mesh_shape[dim];
  }
  return coordinate;
}

// Reshard is one rank's side of a call.
class Reshard {
 public:
  Reshard(const ReshardCall& call, CallSite site)
      : call_(call), site_(site), source_(call.source()), target_(call.target()) {}

  Tensor run(const Tensor& local) {
    std::optional<ReshardFunction> function = choose_reshard(source_, target_);
    if (!function) return local;
    switch (*function) {
      case ReshardFunction::x_to_r_shrink: return shrink(local);
      case ReshardFunction::r_to_x_expand: return expand(local);
      case ReshardFunction::same_status: return move(local, source_, target_);
      case ReshardFunction::global_to_sub_mesh: return is_in(target_) ? local : Tensor();
      case ReshardFunction::sub_mesh_to_global: return spread(local);
      case ReshardFunction::r_to_s_cross_mesh:
      case ReshardFunction::p_to_s_cross_mesh:
      case ReshardFunction::cross_nd_mesh: return change_then_move(local);
      case ReshardFunction::s_to_r_cross_mesh:
      case ReshardFunction::s_to_p_cross_mesh:
      case ReshardFunction::r_to_p_cross_mesh:
      case ReshardFunction::p_to_r_cross_mesh:
      case ReshardFunction::s_to_s_cross_mesh: return move_then_change(local);
      default: return change(local, call_.from_mesh, call_.from, call_.to);
    }
  }

 private:
  static std::int64_t own_rank() { return this_rank().id(); }
  static bool is_in(const ProcessMeshLayout& layout) {
    return layout.ranks.index_of(own_rank()).has_value();
  }

  // All ranks of both meshes, ascending.
  const ProcessGroup& everyone() {
    if (everyone_) return *everyone_;
    std::vector<std::int64_t> ranks;
    for (const ProcessMeshLayout* layout : {&source_, &target_})
      for (std::int64_t i = 0; i < layout->ranks.size(); ++i) ranks.push_back(layout->ranks[i]);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    everyone_ = ProcessGroup::of(RankList::of(ranks), "reshard");
    return *everyone_;
  }
  std::int64_t index_of(std::int64_t rank) { return *everyone().members().index_of(rank); }

  Shape piece_shape(const ProcessMeshLayout& layout, std::int64_t position) const {
    return compute_local_shape_and_global_offset(call_.shape, layout.mesh_shape,
                                                 coordinate_at(position, layout.mesh_shape),
                                                 layout.placements)
        .shape;
  }

  void post(const Tensor& piece, std::int64_t rank) {
    sent_.push_back(isend(piece, {.peer = index_of(rank)}, everyone(), site_));
  }
  Tensor take(DimSpan shape, std::int64_t rank) {
    return recv(shape, call_.dtype, {.peer = index_of(rank)}, everyone(), site_).tensor;
  }
  void finish_sends() {
    for (Work& work : sent_) work.wait();
    sent_.clear();
  }

  // Changes the layout on one mesh. A rank outside of it does nothing.
  Tensor change(const Tensor& local, const DeviceMesh& mesh, const Placements& from,
                const Placements& to) {
    if (!mesh.get_coordinate()) return {};
    Plan plan = plan_reshard(call_.shape, mesh.shape(), from, to);
    MeshGroups groups(mesh);
    PlanRun run{.groups = groups, .global_shape = call_.shape, .mask = nullptr, .site = site_};
    Tensor now = local;
    Sharding before = plan.from;
    for (const PlanStep& step : plan.steps) {
      if (step.from.is_replicate() && step.to.is_plain_partial() && is_paddles_rule()) {
        std::size_t mesh_dim = std::size_t(step.mesh_dims.front());
        now = partial_value(now, step.to.reduce_op(), (*mesh.get_coordinate())[mesh_dim]);
      } else {
        now = run_step(before, step, now, run);
      }
      before = step.after;
    }
    return now;
  }

  // Runs a step of the planner's plan. An average of integers, which the planner lacks, is a sum
  // that is divided afterwards.
  Tensor run_step(Sharding before, PlanStep step, const Tensor& local, const PlanRun& run) const {
    bool averages_integers = step.divide_by != 1 && !is_floating_point(call_.dtype);
    std::int64_t divisor = averages_integers ? step.divide_by : 1;
    if (averages_integers) {
      step.from = Partial();
      step.divide_by = 1;
      before.placements[std::size_t(step.mesh_dims.front())] = step.from;
    }
    Plan one{.from = before, .to = step.after, .steps = {step}};
    Tensor result = run_plan(one, local, run, false).local;
    return averages_integers ? divided_integers(result, divisor) : result;
  }

  bool is_paddles_rule() const {
    return call_.options.replicate_to_partial == ReplicateToPartial::first_coordinate;
  }

  // The rank at position i of one mesh sends its piece to the rank at position i of the other.
  Tensor move(const Tensor& local, const ProcessMeshLayout& from, const ProcessMeshLayout& to) {
    std::optional<std::int64_t> out = from.ranks.index_of(own_rank());
    std::optional<std::int64_t> in = to.ranks.index_of(own_rank());
    Tensor piece;
    if (out && to.ranks[*out] != own_rank()) post(local, to.ranks[*out]);
    if (in && from.ranks[*in] == own_rank())
      piece = local;
    else if (in)
      piece = take(piece_shape(to, *in), from.ranks[*in]);
    finish_sends();
    return piece;
  }

  Tensor change_then_move(const Tensor& local) {
    Tensor changed = change(local, call_.from_mesh, call_.from, call_.to);
    ProcessMeshLayout from = source_;
    from.placements = call_.to;
    return move(changed, from, target_);
  }

  Tensor move_then_change(const Tensor& local) {
    ProcessMeshLayout to = target_;
    to.placements = call_.from;
    return change(move(local, source_, to), call_.to_mesh, call_.from, call_.to);
  }

  // Brings the whole tensor to one rank: the pieces of a shard come from all ranks, and a partial
  // value is reduced by the source. Of a replicated one the root's own copy counts, or else the
  // first one.
  Tensor shrink(const Tensor& local) {
    const Placement& placement = call_.from[0];
    if (placement.is_shard()) return gather_pieces(local);
    Placements whole{Replicate()};
    Tensor value = change(local, call_.from_mesh, call_.from, whole);
    std::int64_t root = target_.ranks[0];
    if (is_in(source_) && root == own_rank()) return value;
    Tensor result;
    if (source_.ranks.index_of(root)) return result;
    if (own_rank() == source_.ranks[0]) post(value, root);
    if (own_rank() == root) result = take(call_.shape, source_.ranks[0]);
    finish_sends();
    return result;
  }

  Tensor gather_pieces(const Tensor& local) {
    std::int64_t root = target_.ranks[0];
    if (own_rank() != root) {
      if (is_in(source_)) post(local, root);
      finish_sends();
      return {};
    }
    std::vector<Tensor> pieces;
    for (std::int64_t i = 0; i < source_.ranks.size(); ++i)
      pieces.push_back(source_.ranks[i] == root ? local
                                                : take(piece_shape(source_, i), source_.ranks[i]));
    return cat(pieces, call_.from[0].dim());
  }

  // The one rank sends the whole to every rank of the target, which keeps its piece.
  Tensor expand(const Tensor& local) {
    std::int64_t root = source_.ranks[0];
    Tensor value = local;
    if (own_rank() == root)
      for (std::int64_t i = 0; i < target_.ranks.size(); ++i)
        if (target_.ranks[i] != root) post(local, target_.ranks[i]);
    if (own_rank() != root && is_in(target_)) value = take(call_.shape, root);
    finish_sends();
    return change(value, call_.to_mesh, {Replicate()}, call_.to);
  }

  // Every slice of the target gets the source's pieces, position by position.
  Tensor spread(const Tensor& local) {
    std::size_t dim = *find_sub_mesh_dim(target_, source_);
    Tensor piece = local;
    for (std::int64_t i = 0; i < target_.mesh_shape[dim]; ++i) {
      std::vector<std::int64_t> slice = slice_of_mesh(target_, dim, i);
      for (std::int64_t position = 0; position < std::int64_t(slice.size()); ++position) {
        std::int64_t sender = source_.ranks[position], receiver = slice[std::size_t(position)];
        if (sender == receiver) continue;
        if (sender == own_rank()) post(local, receiver);
        if (receiver == own_rank()) piece = take(piece_shape(source_, position), sender);
      }
    }
    finish_sends();
    return piece;
  }

  const ReshardCall& call_;
  CallSite site_;
  ProcessMeshLayout source_;
  ProcessMeshLayout target_;
  std::optional<ProcessGroup> everyone_;
  std::vector<Work> sent_;
};

}  // namespace

ProcessMeshLayout ReshardCall::source() const { return layout_of(from_mesh, from); }
ProcessMeshLayout ReshardCall::target() const { return layout_of(to_mesh, to); }

Tensor reshard(const Tensor& local, const ReshardCall& call, CallSite site) {
  return Reshard(call, site).run(local);
}

Tensor shard_tensor(const Tensor& whole, const DeviceMesh& mesh, PlacementSpan placements,
                    const ReshardOptions& options, CallSite site) {
  Placements from(placements.size(), Replicate());
  return reshard(whole,
                 {.shape = Shape(whole.shape().begin(), whole.shape().end()),
                  .dtype = whole.dtype(),
                  .from_mesh = mesh,
                  .from = from,
                  .to_mesh = mesh,
                  .to = {placements.begin(), placements.end()},
                  .options = options},
                 site);
}

}  // namespace simmesh::paddle
