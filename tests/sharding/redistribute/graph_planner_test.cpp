#include "sharding/redistribute/graph_planner.h"

#include <gtest/gtest.h>
#include <map>
#include <queue>
#include <set>

#include "sharding/redistribute/step_feasibility.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

// Reference is the documented search written down as plainly as possible: every state a Sharding,
// no pruning.
class Reference {
 public:
  Reference(Dims mesh, std::int64_t tensor_dims, RedistributeCost cost, bool embeds_shards)
      : mesh_(std::move(mesh)),
        tensor_dims_(tensor_dims),
        cost_(std::move(cost)),
        embeds_shards_(embeds_shards) {}

  std::vector<std::string> path(const Sharding& from, const Sharding& to) {
    std::map<std::string, Placement> ops;
    for (const Sharding* sharding : {&from, &to})
      for (const Placement& each : sharding->placements)
        if (each.is_plain_partial())
          ops.emplace(to_string(each.reduce_op()), each);
        else if (each.is_strided_shard())
          strided_.insert(each);
    using Entry = std::tuple<double, std::int64_t, Sharding, std::vector<std::string>>;
    const auto later = [](const Entry& left, const Entry& right) {
      return std::pair(std::get<0>(left), std::get<1>(left)) >
             std::pair(std::get<0>(right), std::get<1>(right));
    };
    std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
    std::int64_t counter = 0;
    queue.push({0.0, counter++, from, {}});
    std::set<std::string> closed;
    while (true) {
      auto [cost, count, state, path] = queue.top();
      queue.pop();
      path.push_back(to_string(state));
      if (state == to) return path;
      if (!closed.insert(to_string(state)).second) continue;
      Neighbours all = neighbours(state, ops);
      add_strided(all, state);
      if (embeds_shards_) add_embeddings(all, state, to);
      for (const auto& [next, us] : all)
        if (!closed.contains(to_string(next))) queue.push({cost + us, counter++, next, path});
    }
  }

 private:
  using Neighbours = std::vector<std::pair<Sharding, double>>;

  void add(Neighbours& list, const Sharding& state, std::int64_t mesh_dim, const Placement& to) {
    const Placement& from = state.placements[static_cast<std::size_t>(mesh_dim)];
    Sharding next = state;
    next.placements[static_cast<std::size_t>(mesh_dim)] = to;
    std::vector<ShardOrder::Entry> entries;
    for (std::int64_t dim = 0; dim < tensor_dims_; ++dim) {
      Dims order = state.order.mesh_dims(dim, state.placements);
      if (from.splits(dim)) order.pop_back();
      if (to.splits(dim)) order.push_back(mesh_dim);
      if (is_out_of_order(order, next.placements)) return;
      entries.push_back({dim, order});
    }
    next.order = ShardOrder::of(entries, next.placements);
    double us = embeds_shard(from, to) ? 0.0 : cost_.step_us(state.placements, mesh_dim, from, to);
    list.push_back({next, us});
  }

  static bool is_out_of_order(const Dims& order, const Placements& placements) {
    return !std::is_sorted(order.begin(), order.end()) &&
           std::any_of(order.begin(), order.end(), [&](std::int64_t mesh_dim) {
             return placements[static_cast<std::size_t>(mesh_dim)].is_strided_shard();
           });
  }

  void add_strided(Neighbours& list, const Sharding& state) {
    for (std::int64_t a = 0; a < tensor_dims_; ++a) {
      const Dims order = state.order.mesh_dims(a, state.placements);
      if (!order.empty() &&
          state.placements[static_cast<std::size_t>(order.back())].is_strided_shard())
        add(list, state, order.back(), Replicate());
    }
    for (std::size_t m = 0; m < mesh_.size(); ++m)
      for (const Placement& strided : strided_)
        if (state.placements[m].is_replicate())
          add(list, state, static_cast<std::int64_t>(m), strided);
  }

  void add_embeddings(Neighbours& list, const Sharding& state, const Sharding& goal) {
    for (std::int64_t a = 0; a < tensor_dims_; ++a) {
      const Dims order = state.order.mesh_dims(a, state.placements);
      if (order.empty()) continue;
      const Placement& wanted = goal.placements[static_cast<std::size_t>(order.back())];
      const Placement& held = state.placements[static_cast<std::size_t>(order.back())];
      if (embeds_shard(held, wanted)) add(list, state, order.back(), wanted);
    }
  }

  Neighbours neighbours(const Sharding& state, const std::map<std::string, Placement>& ops) {
    Neighbours list;
    const auto mesh_dims = static_cast<std::int64_t>(mesh_.size());
    const auto at = [&](std::int64_t mesh_dim) {
      return state.placements[static_cast<std::size_t>(mesh_dim)];
    };
    for (const bool to_replicate : {false, true}) {
      for (std::int64_t a = 0; a < tensor_dims_; ++a) {
        const Dims order = state.order.mesh_dims(a, state.placements);
        if (order.empty() || at(order.back()).is_strided_shard()) continue;
        if (to_replicate) add(list, state, order.back(), Replicate());
        for (std::int64_t b = 0; !to_replicate && b < tensor_dims_; ++b)
          if (a != b) add(list, state, order.back(), Shard(b));
      }
    }
    for (std::int64_t m = 0; m < mesh_dims; ++m)
      if (at(m).is_partial()) add(list, state, m, Replicate());
    for (std::int64_t m = 0; m < mesh_dims; ++m)
      for (std::int64_t d = 0; at(m).is_replicate() && d < tensor_dims_; ++d)
        add(list, state, m, Shard(d));
    for (std::int64_t m = 0; m < mesh_dims; ++m)
      for (std::int64_t d = 0; at(m).is_partial() && d < tensor_dims_; ++d)
        add(list, state, m, Shard(d));
    for (std::int64_t m = 0; m < mesh_dims; ++m) {
      if (!at(m).is_replicate()) continue;
      for (const auto& [name, placement] : ops) {
        std::set<ReduceOp> together = {placement.reduce_op()};
        for (const Placement& each : state.placements)
          if (each.is_partial()) together.insert(each.reduce_op());
        if (together.size() == 1 || together == std::set{ReduceOp::sum, ReduceOp::avg})
          add(list, state, m, placement);
      }
    }
    return list;
  }

  Dims mesh_;
  std::int64_t tensor_dims_;
  RedistributeCost cost_;
  bool embeds_shards_;
  std::set<Placement> strided_;
};

std::vector<std::string> planned(const Sharding& from, const Sharding& to, std::int64_t tensor_dims,
                                 const Dims& mesh, const RedistributeCost& cost,
                                 bool embeds_shards) {
  std::vector<std::string> path = {to_string(from)};
  for (const PlanStep& step : graph_steps(from, to, tensor_dims, mesh, cost, embeds_shards))
    path.push_back(to_string(step.after));
  return path;
}

void expect_reference_paths(const Dims& mesh, const char* alphabet, std::size_t stride) {
  const auto shardings = small_worlds::shardings(mesh.size(), parse_placements(alphabet));
  const std::size_t pairs = shardings.size() * shardings.size();
  std::size_t turn = 0;
  for (std::size_t pair = 0; pair < pairs; pair += stride) {
    const Sharding& from = shardings[pair / shardings.size()];
    const Sharding& to = shardings[pair % shardings.size()];
    // Latency decides for small tensors, bandwidth for large ones.
    const double bytes = turn % 3 == 0 ? 64 : turn % 3 == 1 ? 1e6 : 1e9;
    const Topology topology{.devices_per_host = turn++ % 2 == 0 ? 1 : 4};
    const RedistributeCost cost(bytes, mesh, topology);
    for (const bool embeds_shards : {false, true})
      EXPECT_EQ(planned(from, to, 2, mesh, cost, embeds_shards),
                Reference(mesh, 2, cost, embeds_shards).path(from, to));
  }
}

// If this fails, the planner's pruning or its compact states change which of the cheapest paths is
// taken.
TEST(GraphPlanner, TakesThePathOfThePlainSearch) {
  expect_reference_paths({2, 3}, "R,S(0),S(1),P(sum)", 1);
  expect_reference_paths({4, 1}, "R,S(0),S(1),P(sum),P(avg)", 1);
  expect_reference_paths({2, 3, 2}, "R,S(0),S(1),P(max)", 211);
  expect_reference_paths({2, 2, 2}, "R,S(0),S(1),P(sum)", 223);
  expect_reference_paths({2, 1, 2, 2}, "R,S(0),S(1)", 1511);
}

// If this fails, a strided shard isn't removed or added as a strided shard, or not for nothing.
TEST(GraphPlanner, TakesThePathOfThePlainSearchBesideStridedShards) {
  const auto alphabet = parse_placements("R,S(0),_S(0,2),S(1),P(max)");
  for (const Dims& mesh : {Dims{2, 3}, Dims{2, 2, 2}}) {
    const auto lists = small_worlds::lists(mesh.size(), alphabet);
    for (const double bytes : {64.0, 1e9}) {
      const RedistributeCost cost(bytes, mesh, {}, RedistributeCost::StridedShards::free);
      for (std::size_t pair = 0; pair < lists.size() * lists.size();
           pair += mesh.size() == 2 ? 1 : 173) {
        const Sharding from{lists[pair / lists.size()], {}}, to{lists[pair % lists.size()], {}};
        EXPECT_EQ(planned(from, to, 2, mesh, cost, true),
                  Reference(mesh, 2, cost, true).path(from, to));
      }
    }
  }
}

// If this fails, a step of the plan moves a shard that isn't innermost.
TEST(GraphPlanner, EveryStepIsFeasible) {
  const Dims mesh{2, 3, 2};
  const auto shardings = small_worlds::shardings(3, parse_placements("R,S(0),S(1),P(sum)"));
  const RedistributeCost cost(7 * 5 * 4, mesh, {});
  for (std::size_t pair = 0; pair < shardings.size() * shardings.size(); pair += 7) {
    const Sharding& from = shardings[pair / shardings.size()];
    const Sharding& to = shardings[pair % shardings.size()];
    for (const bool embeds_shards : {false, true}) {
      const auto steps = graph_steps(from, to, 2, mesh, cost, embeds_shards);
      EXPECT_TRUE(plan_is_feasible(Dims{7, 5}, mesh, from, steps))
          << to_string(from) << " > " << to_string(to);
    }
  }
}

// If this fails, partial placements that only occur in the source can't be planned for.
TEST(GraphPlanner, MaskAndNormAreReducedLikeAnyOther) {
  const Dims mesh{2, 2};
  const RedistributeCost cost(1024, mesh, {});
  const Sharding from{parse_placements("MaskP,NormP(2)"), {}};
  const Sharding to{parse_placements("R,S(0)"), {}};
  EXPECT_EQ(planned(from, to, 1, mesh, cost, true),
            (std::vector<std::string>{"MaskP,NormP(2)", "MaskP,S(0)", "R,S(0)"}));
}

// If this fails, plans on meshes and tensors of many dims are wrong or take too long.
TEST(GraphPlanner, ManyDimsWork) {
  const Dims mesh{2, 2, 2, 2, 2, 2};
  const RedistributeCost cost(1 << 20, mesh, {});
  const Sharding from{parse_placements("S(0),S(0),R,R,P(sum),R"), {}};
  const Sharding to{parse_placements("S(0),S(1),R,R,S(30),R"), {}};
  const auto steps = graph_steps(from, to, 31, mesh, cost, true);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back().after, to);
}

}  // namespace
}  // namespace simmesh
