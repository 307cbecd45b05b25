#include "sharding/parallel/token_ranking.h"

#include <algorithm>
#include <numeric>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/nn/moe_routing.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

namespace {

using Counts = std::vector<std::int64_t>;

// Places of counts in [lanes, runs, experts]. A lane is a choice, or all choices where their order
// doesn't matter: a token chooses an expert at most once.
struct CountsLayout {
  std::int64_t lanes, runs, experts;
  std::int64_t numel() const { return lanes * runs * experts; }
  std::size_t at(std::int64_t choice, std::int64_t run, std::int64_t expert) const {
    return std::size_t(((lanes > 1 ? choice : 0) * runs + run) * experts + expert);
  }
};

Counts values_of(const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  auto values = rows.values<std::int64_t>();
  return {values.begin(), values.end()};
}

// Returns the loads of a forced balance, where no values tell them: equal ones.
Counts even_loads(const nn::ExpertLimits& limits, std::int64_t choices) {
  std::int64_t load = choices / limits.experts;
  if (limits.capacity > 0 && load > limits.capacity)
    raise(ErrorKind::runtime_error, "sharding/token_ranking",
          "expected a capacity of at least {} tokens in a world of shapes only, where nobody knows "
          "which ones are dropped, got {}",
          load, limits.capacity);
  return Counts(std::size_t(limits.experts), load);
}

// Returns the first place of each lane, run and expert, and adds up the loads.
Counts first_places(const Counts& counts, const CountsLayout& layout, Counts& loads) {
  Counts places(counts.size());
  for (std::int64_t lane = 0; lane < layout.lanes; ++lane)
    for (std::int64_t run = 0; run < layout.runs; ++run)
      for (std::int64_t expert = 0; expert < layout.experts; ++expert) {
        std::size_t at = layout.at(lane, run, expert);
        places[at] = loads[std::size_t(expert)];
        loads[std::size_t(expert)] += counts[at];
      }
  return places;
}

}  // namespace

TokenNumbers numbers_along(std::int64_t dim, const Shape& x, const Counts& lengths,
                           std::int64_t rank) {
  std::int64_t start = 0, length = 0, inner = 1, outer = 1;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (std::int64_t(i) < rank) start += lengths[i];
    length += lengths[i];
  }
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    if (std::int64_t(i) != dim) (std::int64_t(i) < dim ? outer : inner) *= x[i];
  TokenNumbers result{{}, outer * length * inner};
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < lengths[std::size_t(rank)] * inner; ++i)
      result.own.push_back((o * length + start) * inner + i);
  return result;
}

TokenRanking::TokenRanking(TokenNumbers numbers, AllSum all_sum)
    : numbers_(std::move(numbers)), all_sum_(std::move(all_sum)), order_(numbers_.own.size()) {
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  std::sort(order_.begin(), order_.end(), [this](std::int64_t a, std::int64_t b) {
    return numbers_.own[std::size_t(a)] < numbers_.own[std::size_t(b)];
  });
  find_runs();
}

// Each rank writes the lengths of its runs at their starts; the sum has those of all ranks.
void TokenRanking::find_runs() {
  Counts lengths(static_cast<std::size_t>(numbers_.count), 0), starts;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    std::int64_t number = numbers_.own[std::size_t(order_[i])];
    if (starts.empty() || number != starts.back() + lengths[std::size_t(starts.back())])
      starts.push_back(number);
    ++lengths[std::size_t(starts.back())];
    run_.push_back(starts.back());
  }
  if (numbers_.count == 0) return;
  Tensor sum = known_tensor(summed(vector_of<std::int64_t>(lengths)), "runs of tokens");
  if (!sum.has_elements()) {
    // All ranks have as many runs.
    auto own = std::int64_t(order_.size());
    runs_ = own == 0 ? 0 : std::int64_t(starts.size()) * (numbers_.count / own);
    std::fill(run_.begin(), run_.end(), std::int64_t{0});
    return;
  }
  Counts all = values_of(sum), run_at(all.size(), -1);
  std::int64_t next = 0;
  for (std::int64_t at = 0; at < numbers_.count; ++at) {
    std::int64_t length = all[std::size_t(at)];
    if (length == 0 && at < next) continue;
    if (at != next || length <= 0)
      raise(ErrorKind::value_error, "sharding/token_ranking",
            "expected each token on one rank, got token {} on {}", at,
            at < next ? "several" : "none");
    run_at[std::size_t(at)] = runs_++;
    next = at + length;
  }
  if (next != numbers_.count)
    raise(ErrorKind::value_error, "sharding/token_ranking", "expected {} tokens, got {}",
          numbers_.count, next);
  for (std::int64_t& run : run_) run = run_at[std::size_t(run)];
}

std::vector<bool> TokenRanking::kept_by_place(const nn::ExpertLimits& limits,
                                              const nn::Routing& routing, Counts& loads) const {
  std::int64_t choices = routing.experts.size(1);
  CountsLayout layout{limits.order == nn::DropOrder::choice ? choices : 1, runs_, limits.experts};
  Counts experts = values_of(routing.experts);
  auto each_slot = [&](auto use) {
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (std::int64_t choice = 0; choice < choices; ++choice) {
        auto slot = std::size_t(order_[i] * choices + choice);
        use(slot, layout.at(choice, run_[i], experts[slot]));
      }
  };
  Counts own(static_cast<std::size_t>(layout.numel()), 0);
  each_slot([&](std::size_t, std::size_t at) { ++own[at]; });
  Tensor sum = known_tensor(summed(vector_of<std::int64_t>(own)), "choices of tokens");
  if (!sum.has_elements()) {
    loads = even_loads(limits, numbers_.count * choices);
    return std::vector<bool>(experts.size(), true);
  }
  Counts place = first_places(values_of(sum), layout, loads);
  std::vector<bool> kept(experts.size(), false);
  each_slot([&](std::size_t slot, std::size_t at) { kept[slot] = place[at]++ < limits.capacity; });
  return kept;
}

std::vector<bool> TokenRanking::kept_by_score(const nn::ExpertLimits& limits,
                                              const nn::Routing& routing, Counts& loads) const {
  std::int64_t choices = routing.experts.size(1);
  Tensor scores = converted(routing.chosen.detach(), DType::float64).contiguous();
  Counts own = values_of(routing.experts);
  auto slots = std::size_t(numbers_.count * choices);
  Counts experts(slots, 0);
  Tensor whole_scores = zeros({numbers_.count, choices}, DType::float64);
  auto slot_of = [&](std::size_t i) {
    auto token = i / std::size_t(choices);
    return std::size_t(numbers_.own[token] * choices) + i % std::size_t(choices);
  };
  for (std::size_t i = 0; i < own.size(); ++i) experts[slot_of(i)] = own[i];
  for (std::size_t i = 0; scores.has_elements() && i < own.size(); ++i)
    whole_scores.mutable_values<double>()[slot_of(i)] = scores.values<double>()[i];
  Tensor chosen =
      known_tensor(view(summed(vector_of<std::int64_t>(experts)), {numbers_.count, choices}),
                   "choices of tokens");
  Tensor all_scores = summed(whole_scores);
  if (!chosen.has_elements()) {
    loads = even_loads(limits, numbers_.count * choices);
    return std::vector<bool>(own.size(), true);
  }
  loads = nn::loads_of(chosen, limits.experts);
  std::vector<bool> all = nn::kept_slots(chosen, limits, all_scores), kept(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) kept[i] = all[slot_of(i)];
  return kept;
}

nn::RoutingDecision TokenRanking::decide(const nn::Moe& moe, const nn::Routing& routing) const {
  const nn::Moe::Options& options = moe.options();
  SIMMESH_CHECK(routing.experts.size(0) == std::int64_t(numbers_.own.size()),
                "expected the routing of {} tokens, got {}", numbers_.own.size(),
                routing.experts.size(0));
  nn::ExpertLimits limits{options.experts, moe.capacity_of(numbers_.count), options.router.drop};
  Counts loads(static_cast<std::size_t>(options.experts), 0);
  std::vector<bool> kept(std::size_t(routing.experts.numel()), true);
  if (limits.capacity == 0) {
    Tensor sum = known_tensor(
        summed(vector_of<std::int64_t>(nn::loads_of(routing.experts, options.experts))), "loads");
    loads =
        sum.has_elements() ? values_of(sum) : even_loads(limits, numbers_.count * options.top_k);
  } else if (limits.order == nn::DropOrder::probability) {
    kept = kept_by_score(limits, routing, loads);
  } else {
    kept = kept_by_place(limits, routing, loads);
  }
  return {nn::tokens_of_experts(routing.experts, options.experts, kept),
          {std::move(loads), numbers_.count}};
}

}  // namespace simmesh
