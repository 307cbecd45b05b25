#include "sharding/redistribute/unwind_planner.h"

#include <algorithm>

namespace simmesh {
namespace {

class Unwinding {
 public:
  Unwinding(const Sharding& from, const Sharding& to) : to_(to), current_(from) {}

  void run(std::int64_t tensor_dims) {
    std::vector<std::size_t> kept;
    for (std::int64_t dim = 0; dim < tensor_dims; ++dim) kept.push_back(gather(dim));
    for (std::size_t mesh_dim = 0; mesh_dim < current_.placements.size(); ++mesh_dim) {
      const Placement& placement = current_.placements[mesh_dim];
      const Placement& target = to_.placements[mesh_dim];
      if (placement.is_partial() && target != placement && !target.splits())
        move(mesh_dim, Replicate(), current_.order);
    }
    for (std::int64_t dim = 0; dim < tensor_dims; ++dim)
      apply(dim, kept[static_cast<std::size_t>(dim)]);
    for (std::size_t mesh_dim = 0; mesh_dim < current_.placements.size(); ++mesh_dim)
      move(mesh_dim, to_.placements[mesh_dim], to_.order);
  }

  std::vector<PlanStep> take_steps() { return std::move(steps_); }

 private:
  // gather removes the shards of a tensor dim that can't stay. Returns how many stay.
  std::size_t gather(std::int64_t dim) {
    const Dims target = to_.order.mesh_dims(dim, to_.placements);
    Dims order = current_.order.mesh_dims(dim, current_.placements);
    std::size_t kept = 0;
    while (kept < order.size() && kept < target.size() && order[kept] == target[kept] &&
           current_.placements[order[kept]] == to_.placements[target[kept]])
      ++kept;
    while (order.size() > kept) {
      const auto mesh_dim = static_cast<std::size_t>(order.back());
      order.pop_back();
      move_shard(mesh_dim, Replicate(), dim, order);
    }
    return kept;
  }

  void apply(std::int64_t dim, std::size_t kept) {
    const Dims target = to_.order.mesh_dims(dim, to_.placements);
    Dims order(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(kept));
    for (; kept < target.size(); ++kept) {
      order.push_back(target[kept]);
      const auto mesh_dim = static_cast<std::size_t>(target[kept]);
      move_shard(mesh_dim, to_.placements[mesh_dim], dim, order);
    }
  }

  // move_shard changes which mesh dims split the tensor dim: those of `order` do so afterwards.
  void move_shard(std::size_t mesh_dim, const Placement& target, std::int64_t dim,
                  const Dims& order) {
    Placements placements = current_.placements;
    placements[mesh_dim] = target;
    std::vector<ShardOrder::Entry> entries(current_.order.entries().begin(),
                                           current_.order.entries().end());
    std::erase_if(entries, [&](const ShardOrder::Entry& entry) { return entry.tensor_dim == dim; });
    entries.push_back({dim, order});
    move(mesh_dim, target, ShardOrder::of(std::move(entries), placements));
  }

  void move(std::size_t mesh_dim, const Placement& target, ShardOrder order) {
    if (current_.placements[mesh_dim] == target) return;
    PlanStep step;
    step.mesh_dims.push_back(static_cast<std::int64_t>(mesh_dim));
    step.from = current_.placements[mesh_dim];
    step.to = target;
    current_.placements[mesh_dim] = target;
    current_.order = std::move(order);
    step.after = current_;
    steps_.push_back(std::move(step));
  }

  const Sharding& to_;
  Sharding current_;
  std::vector<PlanStep> steps_;
};

}  // namespace

std::vector<PlanStep> unwind_steps(const Sharding& from, const Sharding& to,
                                   std::int64_t tensor_dims) {
  Unwinding unwinding(from, to);
  unwinding.run(tensor_dims);
  return unwinding.take_steps();
}

}  // namespace simmesh
