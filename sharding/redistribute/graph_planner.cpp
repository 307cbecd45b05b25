#include "sharding/redistribute/graph_planner.h"

#include <algorithm>
#include <limits>

#include "core/check/check.h"
#include "core/check/error.h"
#include "sharding/placement/shard_state.h"
#include "sharding/redistribute/greedy_planner.h"
#include "sharding/redistribute/unwind_planner.h"

namespace simmesh {
namespace {

constexpr std::size_t states_max = 4'000'000;

// SearchCost is the cost of a step in the search. Embedding a shard costs nothing here, because
// nothing is communicated.
struct SearchCost {
  const RedistributeCost& cost;
  bool embeds_shards;

  double step_us(std::int64_t shards, std::size_t mesh_dim, const Placement& from,
                 const Placement& to) const {
    if (embeds_shards && embeds_shard(from, to)) return 0.0;
    return cost.step_from_shards_us(shards, static_cast<std::int64_t>(mesh_dim), from, to);
  }
};

// known_cost is the cost of some path from `from` to `to`, added up as the search does.
double known_cost(const Sharding& from, const Sharding& to, std::int64_t tensor_dims,
                  DimSpan mesh_shape, const SearchCost& cost) {
  const auto total_us = [&](const std::vector<PlanStep>& steps) {
    double us = 0.0;
    const Sharding* before = &from;
    for (const PlanStep& step : steps) {
      us += cost.step_us(shard_count(before->placements, mesh_shape),
                         static_cast<std::size_t>(step.mesh_dims.front()), step.from, step.to);
      before = &step.after;
    }
    return us;
  };
  double us = total_us(unwind_steps(from, to, tensor_dims));
  // Without a shard larger than 1 the greedy planner removes shards in ascending order, which is no
  // path here. It doesn't know strided shards.
  const auto is_strided = [](const Placement& each) { return each.is_strided_shard(); };
  const auto has_strided = [&](const Sharding& sharding) {
    return std::any_of(sharding.placements.begin(), sharding.placements.end(), is_strided);
  };
  const bool path = !has_strided(from) && !has_strided(to) && from.order.is_ascending() &&
                    to.order.is_ascending() && shard_count(from.placements, mesh_shape) > 1;
  if (path) us = std::min(us, total_us(greedy_steps(from.placements, to.placements, mesh_shape)));
  return us;
}

class Search {
 public:
  Search(const Sharding& from, const Sharding& to, std::int64_t tensor_dims, DimSpan mesh_shape,
         const SearchCost& cost)
      : codes_(from, to, tensor_dims),
        tensor_dims_(static_cast<std::size_t>(tensor_dims)),
        mesh_shape_(mesh_shape),
        cost_(cost),
        states_(mesh_shape.size()) {
    start_ = number(codes_.encoded(from));
    goal_state_ = codes_.encoded(to);
    goal_ = number(goal_state_);
    bound_us_ = with_slack(known_cost(from, to, tensor_dims, mesh_shape, cost));
    for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape.size(); ++mesh_dim) {
      floor_us_.push_back(cost.cost.floor_us(static_cast<std::int64_t>(mesh_dim)));
      takes_shard_.push_back(cost.embeds_shards &&
                             to.placements[mesh_dim] == Partial(ReduceOp::sum));
    }
  }

  // path returns the states from the start to the goal.
  std::vector<ShardState> path() {
    nodes_[start_].cost = 0.0;
    push(start_);
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), later);
      const Entry entry = queue_.back();
      queue_.pop_back();
      if (entry.state == goal_) return path_to_goal();
      if (nodes_[entry.state].closed) continue;
      nodes_[entry.state].closed = true;
      expand(entry.state);
    }
    SIMMESH_CHECK(false, "no path between two shardings of {} mesh dims", mesh_shape_.size());
  }

  const PlacementCodes& codes() const { return codes_; }

 private:
  struct Node {
    double cost = std::numeric_limits<double>::infinity();
    std::uint32_t parent = 0;
    bool closed = false;
  };

  struct Entry {
    double cost;
    std::uint32_t counter;
    std::uint32_t state;
  };

  // with_slack adds far more than the rounding difference between sums of the same costs in another
  // order.
  static double with_slack(double us) { return us + us * 1e-9; }

  static bool later(const Entry& left, const Entry& right) {
    return left.cost != right.cost ? left.cost > right.cost : left.counter > right.counter;
  }

  std::uint32_t number(const ShardState& state) {
    const std::uint32_t number = states_.number(state);
    if (number == nodes_.size()) nodes_.emplace_back();
    return number;
  }

  void push(std::uint32_t state) {
    queue_.push_back({nodes_[state].cost, counter_++, state});
    std::push_heap(queue_.begin(), queue_.end(), later);
  }

  bool partial(std::size_t code) const { return codes_.is_partial(code); }
  bool has_strided() const { return codes_.first_strided() < codes_.size(); }
  bool split(std::size_t code) const { return codes_.shard_of(code) > 0; }

  // out_of_order is true if a code on mesh_dim, applied last, would be out of order beside a
  // strided shard, which implies an order. No path through such a state reaches the goal.
  bool out_of_order(const ShardState& state, std::size_t mesh_dim, std::size_t code) const {
    bool strided = codes_.is_strided(code), later = false;
    for (std::size_t other = 0; other < mesh_shape_.size(); ++other) {
      const std::size_t beside = state.at[other].code;
      if (other == mesh_dim || codes_.shard_of(beside) != codes_.shard_of(code)) continue;
      strided |= codes_.is_strided(beside);
      later |= other > mesh_dim;
    }
    return strided && later;
  }

  // reach offers a neighbour. It skips one that can't change the result: where its state has been
  // pushed at this cost or less (that entry wins), and where no path through it can be as cheap as
  // a known one.
  void reach(std::uint32_t from, ShardState next, std::size_t mesh_dim, std::uint8_t code) {
    if (has_strided() && split(code) && out_of_order(next, mesh_dim, code)) return;
    const Placement& before = codes_.placement(next.at[mesh_dim].code);
    const double cost =
        nodes_[from].cost + cost_.step_us(shards_, mesh_dim, before, codes_.placement(code));
    next.at[mesh_dim] = {code, split(code) ? count_[codes_.shard_of(code)] : std::uint8_t{0}};
    if (cost + remaining_us(next) > bound_us_) return;
    const std::uint32_t state = number(next);
    Node& node = nodes_[state];
    if (node.closed || cost >= node.cost) return;
    node.cost = cost;
    node.parent = from;
    if (state == goal_) bound_us_ = std::min(bound_us_, with_slack(cost));
    push(state);
  }

  // remaining_us is a lower bound of the cost of a path from the state to the goal: each partial
  // mesh dim that isn't in the goal is reduced, and in each tensor dim all shards leave that come
  // after those at which the two orders agree. A shard that can be embedded leaves at no cost, and
  // so may a strided one.
  double remaining_us(const ShardState& state) const {
    std::uint8_t agreed[dims_max + 1];
    std::fill_n(agreed, tensor_dims_ + 1, std::numeric_limits<std::uint8_t>::max());
    double us = 0.0;
    for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape_.size(); ++mesh_dim) {
      const ShardState::Entry entry = state.at[mesh_dim];
      if (entry.code == 0 || entry == goal_state_.at[mesh_dim]) continue;
      if (const std::size_t shard = codes_.shard_of(entry.code))
        agreed[shard] = std::min(agreed[shard], entry.place);
      else
        us += floor_us_[mesh_dim];
    }
    for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape_.size(); ++mesh_dim) {
      const ShardState::Entry entry = state.at[mesh_dim];
      if (codes_.is_shard(entry.code) && entry.place >= agreed[entry.code] &&
          !takes_shard_[mesh_dim])
        us += floor_us_[mesh_dim];
    }
    return us;
  }

  // survey finds what expand needs of a state: the number of shards, and for each tensor dim how
  // many mesh dims shard it and which of them comes last.
  void survey(const ShardState& state) {
    std::fill(std::begin(count_), std::end(count_), std::uint8_t{0});
    shards_ = 1;
    for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape_.size(); ++mesh_dim) {
      if (!split(state.at[mesh_dim].code)) continue;
      shards_ *= mesh_shape_[mesh_dim];
      ++count_[codes_.shard_of(state.at[mesh_dim].code)];
    }
    for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape_.size(); ++mesh_dim) {
      const ShardState::Entry entry = state.at[mesh_dim];
      const std::size_t shard = codes_.shard_of(entry.code);
      if (shard > 0 && entry.place + 1 == count_[shard]) last_[shard] = mesh_dim;
    }
  }

  void expand(std::uint32_t from);
  void expand_shards(std::uint32_t from, const ShardState& state);
  void expand_partial(std::uint32_t from, const ShardState& state);
  void expand_strided(std::uint32_t from, const ShardState& state);
  bool mixes(const ShardState& state, std::size_t mesh_dim, const Placement& partial) const;
  std::vector<ShardState> path_to_goal() const;

  PlacementCodes codes_;
  std::size_t tensor_dims_;
  DimSpan mesh_shape_;
  SearchCost cost_;
  ShardStateTable states_;
  std::vector<Node> nodes_;
  std::vector<Entry> queue_;
  std::uint32_t counter_ = 0;
  std::uint32_t start_ = 0;
  std::uint32_t goal_ = 0;

  ShardState goal_state_{};
  double bound_us_ = 0;                                  // no path that costs more can win
  boost::container::small_vector<double, 4> floor_us_;   // of any collective, by mesh dim
  boost::container::small_vector<bool, 4> takes_shard_;  // by mesh dim: a shard can become its goal

  // Results of survey for the state that is being expanded: counts and mesh dims are those of the
  // tensor dim of a plain shard's code.
  std::int64_t shards_ = 1;
  std::uint8_t count_[dims_max + 1];
  std::size_t last_[dims_max + 1];  // where the count isn't zero
};

// mixes is true if a partial placement on mesh_dim would be next to one of another op, except sum
// with avg.
bool Search::mixes(const ShardState& state, std::size_t mesh_dim,
                   const Placement& placement) const {
  const auto family = [](ReduceOp op) { return op == ReduceOp::avg ? ReduceOp::sum : op; };
  for (std::size_t other = 0; other < mesh_shape_.size(); ++other)
    if (other != mesh_dim && partial(state.at[other].code) &&
        family(codes_.placement(state.at[other].code).reduce_op()) != family(placement.reduce_op()))
      return true;
  return false;
}

// Only shards that were applied last to their tensor dim can leave it, and strided ones only for R.
void Search::expand_shards(std::uint32_t from, const ShardState& state) {
  const auto shard_end = static_cast<std::uint8_t>(tensor_dims_ + 1);
  const auto ends_plain = [&](std::uint8_t source) {
    return count_[source] > 0 && !codes_.is_strided(state.at[last_[source]].code);
  };
  for (std::uint8_t source = 1; source < shard_end; ++source)
    for (std::uint8_t target = 1; ends_plain(source) && target < shard_end; ++target)
      if (target != source) reach(from, state, last_[source], target);
  for (std::uint8_t source = 1; source < shard_end; ++source)
    if (ends_plain(source)) reach(from, state, last_[source], 0);
}

void Search::expand_partial(std::uint32_t from, const ShardState& state) {
  const auto shard_end = static_cast<std::uint8_t>(tensor_dims_ + 1);
  const std::size_t mesh_dims = mesh_shape_.size();
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_dims; ++mesh_dim)
    if (partial(state.at[mesh_dim].code)) reach(from, state, mesh_dim, 0);
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_dims; ++mesh_dim)
    for (std::uint8_t target = 1; state.at[mesh_dim].code == 0 && target < shard_end; ++target)
      reach(from, state, mesh_dim, target);
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_dims; ++mesh_dim)
    for (std::uint8_t target = 1; partial(state.at[mesh_dim].code) && target < shard_end; ++target)
      reach(from, state, mesh_dim, target);
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_dims; ++mesh_dim) {
    if (state.at[mesh_dim].code != 0) continue;
    for (std::size_t target = shard_end; target < codes_.first_strided(); ++target)
      if (codes_.placement(target).is_plain_partial() &&
          !mixes(state, mesh_dim, codes_.placement(target)))
        reach(from, state, mesh_dim, static_cast<std::uint8_t>(target));
  }
}

void Search::expand_strided(std::uint32_t from, const ShardState& state) {
  for (std::size_t source = 1; source <= tensor_dims_; ++source)
    if (count_[source] > 0 && codes_.is_strided(state.at[last_[source]].code))
      reach(from, state, last_[source], 0);
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape_.size(); ++mesh_dim) {
    if (state.at[mesh_dim].code != 0) continue;
    for (std::size_t target = codes_.first_strided(); target < codes_.size(); ++target)
      reach(from, state, mesh_dim, static_cast<std::uint8_t>(target));
  }
}

void Search::expand(std::uint32_t from) {
  const ShardState state = states_.state(from);
  survey(state);
  expand_shards(from, state);
  expand_partial(from, state);
  if (has_strided()) expand_strided(from, state);
  for (std::size_t source = 1; source <= tensor_dims_; ++source)
    if (count_[source] > 0 && takes_shard_[last_[source]] &&
        codes_.is_shard(state.at[last_[source]].code))
      reach(from, state, last_[source], goal_state_.at[last_[source]].code);
  if (states_.size() > states_max)
    raise(ErrorKind::runtime_error, "sharding/graph_planner",
          "expected a search over at most {} shardings, got more: use the greedy planner for a "
          "mesh {} and {} tensor dims",
          states_max, to_string(mesh_shape_), tensor_dims_);
}

std::vector<ShardState> Search::path_to_goal() const {
  std::vector<ShardState> path;
  for (std::uint32_t state = goal_; state != start_; state = nodes_[state].parent)
    path.push_back(states_.state(state));
  path.push_back(states_.state(start_));
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

std::vector<PlanStep> graph_steps(const Sharding& from, const Sharding& to,
                                  std::int64_t tensor_dims, DimSpan mesh_shape,
                                  const RedistributeCost& cost, bool embeds_shards) {
  Search search(from, to, tensor_dims, mesh_shape, {cost, embeds_shards});
  const std::vector<ShardState> path = search.path();
  std::vector<PlanStep> steps;
  for (std::size_t index = 1; index < path.size(); ++index) {
    std::size_t mesh_dim = 0;
    while (path[index - 1].at[mesh_dim].code == path[index].at[mesh_dim].code) ++mesh_dim;
    PlanStep step;
    step.mesh_dims.push_back(static_cast<std::int64_t>(mesh_dim));
    step.from = search.codes().placement(path[index - 1].at[mesh_dim].code);
    step.to = search.codes().placement(path[index].at[mesh_dim].code);
    step.after = search.codes().decoded(path[index]);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace simmesh
