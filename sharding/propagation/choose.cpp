#include "sharding/propagation/choose.h"

#include <algorithm>
#include <limits>

#include "sharding/propagation/candidates.h"

namespace simmesh {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// A bound may be added up in another order than the costs that it bounds.
constexpr double rounding_slack = 1.0 - 1e-12;

bool is_mixed(const Placements& placements) {
  const Placement* first = nullptr;
  for (const Placement& one : placements) {
    if (!one.is_partial()) continue;
    if (!first) first = &one;
    auto adds = [](const Placement& p) {
      return p.is_plain_partial() &&
             (p.reduce_op() == ReduceOp::sum || p.reduce_op() == ReduceOp::avg);
    };
    if (!(one == *first) && !(adds(one) && adds(*first))) return true;
  }
  return false;
}

// Judge decides which candidates fit a call, and computes their costs.
class Judge {
 public:
  Judge(const PropagationRequest& request, const MeshRequest& mesh_request,
        const ShardingStrategy& strategy)
      : request_(request), mesh_request_(mesh_request), strategy_(strategy), costs_(request) {}

  bool fits(const MeshCandidate& candidate) const {
    for (const auto* list : {&candidate.inputs, &candidate.outputs})
      for (const auto& placements : *list)
        if (placements && is_mixed(*placements)) return false;
    if (!keeps_destination(candidate) || !keeps_addends(candidate)) return false;
    for (std::size_t i = 0; i < request_.inputs.size(); ++i) {
      if (!request_.given[i] || !candidate.inputs[i]) continue;
      const Placements& placements = *candidate.inputs[i];
      if (!can_be_parts(i) &&
          makes_parts_of_a_sum(request_.given[i]->placements, placements, request_.mesh_shape))
        return false;
      // A rule over all mesh dims has checked the sizes itself.
      if (strategy_.over_mesh) continue;
      bool may_stay = strategy_.accepts_short_dims && placements == request_.given[i]->placements;
      if (!may_stay && !is_shardable(request_.inputs[i].shape, placements, request_.mesh_shape))
        return false;
    }
    return !strategy_.filter || strategy_.filter(mesh_request_, candidate);
  }

  bool moves_nothing(const MeshCandidate& candidate) const {
    for (std::size_t i = 0; i < request_.inputs.size(); ++i)
      if (request_.given[i] && candidate.inputs[i] &&
          !(*candidate.inputs[i] == request_.given[i]->placements))
        return false;
    return true;
  }

  double cost_us(const MeshCandidate& candidate) {
    double cost = 0.0;
    for (std::size_t i = 0; i < request_.inputs.size(); ++i)
      if (request_.given[i] && candidate.inputs[i]) cost += costs_.cost_us(i, *candidate.inputs[i]);
    return cost + candidate.cost_us;
  }

  double floor_us(const StrategyRow& row, std::size_t mesh_dim) const {
    double cost = row.cost_us;
    for (std::size_t i = 0; i < request_.inputs.size(); ++i)
      if (request_.given[i] && row.inputs[i]) cost += costs_.floor_us(i, mesh_dim, *row.inputs[i]);
    return cost;
  }

 private:
  // A sum that was partial before the call would have been rounded before it is added.
  bool keeps_addends(const MeshCandidate& candidate) const {
    if (!request_.keeps_bits || strategy_.addends == 0) return true;
    for (std::size_t i = 0; i < request_.inputs.size(); ++i) {
      if (!request_.given[i] || !candidate.inputs[i] || !strategy_.adds_unrounded(i)) continue;
      for (std::size_t dim = 0; dim < candidate.inputs[i]->size(); ++dim)
        if (adds_up((*candidate.inputs[i])[dim]) &&
            !request_.given[i]->placements[dim].is_replicate())
          return false;
    }
    return true;
  }

  bool can_be_parts(std::size_t input) const {
    const auto& outputs = mesh_request_.call.outputs;
    return is_floating_point(request_.inputs[input].dtype) ||
           (!outputs.empty() && is_floating_point(outputs[0].dtype));
  }

  bool keeps_destination(const MeshCandidate& candidate) const {
    if (request_.destination == Destination::fresh) return true;
    const Placements& wanted = request_.destination == Destination::in_place
                                   ? request_.given[0]->placements
                                   : request_.out->placements;
    if (candidate.outputs[0] && !(*candidate.outputs[0] == wanted)) return false;
    return request_.destination == Destination::out || !candidate.inputs[0] ||
           *candidate.inputs[0] == wanted;
  }

  const PropagationRequest& request_;
  const MeshRequest& mesh_request_;
  const ShardingStrategy& strategy_;
  CandidateCosts costs_;
};

MeshCandidate joined(gsl::span<const StrategyRow* const> rows) {
  MeshCandidate candidate;
  auto join = [&](StrategyRow::Entries StrategyRow::*entries,
                  std::vector<std::optional<Placements>>& lists) {
    lists.resize((rows[0]->*entries).size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!(rows[0]->*entries)[i]) continue;
      lists[i].emplace();
      for (const StrategyRow* row : rows)
        lists[i]->push_back((row->*entries)[i].value_or(Placement()));
    }
  };
  join(&StrategyRow::inputs, candidate.inputs);
  join(&StrategyRow::outputs, candidate.outputs);
  for (const StrategyRow* row : rows) candidate.cost_us += row->cost_us;
  return candidate;
}

// RowSearch walks the products of the rows of all mesh dims, the last mesh dim fastest.
class RowSearch {
 public:
  RowSearch(const PropagationRequest& request, const StrategyRows& rows, Judge& judge)
      : request_(request), judge_(judge), chosen_(request.mesh_shape.size()) {
    for (std::size_t dim = 0; dim < chosen_.size(); ++dim) {
      std::vector<Branch> branches;
      for (const StrategyRow& row : rows) branches.push_back({&row, judge.floor_us(row, dim)});
      branches_.push_back(std::move(branches));
    }
    // The least cost of the mesh dims that follow.
    floor_behind_.assign(chosen_.size() + 1, 0.0);
    for (std::size_t dim = chosen_.size(); dim-- > 0;) {
      double least = infinite;
      for (const Branch& branch : branches_[dim]) least = std::min(least, branch.floor_us);
      floor_behind_[dim] = floor_behind_[dim + 1] + least;
    }
  }

  // last_unmoved returns the last candidate that moves nothing.
  std::optional<MeshCandidate> last_unmoved() { return unmoved_from(0); }

  // first_cheapest returns the first of the cheapest candidates. Its cost is found with the
  // branches in order of their least costs, so that few are visited.
  std::optional<MeshCandidate> first_cheapest(double& cost_us) {
    best_ = infinite;
    has_any_ = false;
    std::vector<std::vector<Branch>> in_order = branches_;
    for (auto& branches : branches_)
      std::stable_sort(branches.begin(), branches.end(),
                       [](const Branch& a, const Branch& b) { return a.floor_us < b.floor_us; });
    find_price(0, 0.0);
    branches_ = std::move(in_order);
    cost_us = best_;
    if (!has_any_) return std::nullopt;
    return first_at_price(0, 0.0);
  }

 private:
  struct Branch {
    const StrategyRow* row;
    double floor_us;
  };

  bool lies_so(const StrategyRow& row, std::size_t dim) const {
    for (std::size_t i = 0; i < request_.inputs.size(); ++i)
      if (request_.given[i] && row.inputs[i] &&
          !(request_.given[i]->placements[dim] == *row.inputs[i]))
        return false;
    return true;
  }

  std::optional<MeshCandidate> unmoved_from(std::size_t dim) {
    if (dim == chosen_.size()) {
      MeshCandidate candidate = joined(chosen_);
      if (judge_.fits(candidate)) return candidate;
      return std::nullopt;
    }
    for (std::size_t i = branches_[dim].size(); i-- > 0;) {
      if (!lies_so(*branches_[dim][i].row, dim)) continue;
      chosen_[dim] = branches_[dim][i].row;
      if (auto found = unmoved_from(dim + 1)) return found;
    }
    return std::nullopt;
  }

  void find_price(std::size_t dim, double floor) {
    if (has_any_ && (floor + floor_behind_[dim]) * rounding_slack >= best_) return;
    if (dim == chosen_.size()) {
      MeshCandidate candidate = joined(chosen_);
      if (!judge_.fits(candidate)) return;
      best_ = has_any_ ? std::min(best_, judge_.cost_us(candidate)) : judge_.cost_us(candidate);
      has_any_ = true;
      return;
    }
    for (const Branch& branch : branches_[dim]) {
      chosen_[dim] = branch.row;
      find_price(dim + 1, floor + branch.floor_us);
    }
  }

  std::optional<MeshCandidate> first_at_price(std::size_t dim, double floor) {
    if ((floor + floor_behind_[dim]) * rounding_slack > best_) return std::nullopt;
    if (dim == chosen_.size()) {
      MeshCandidate candidate = joined(chosen_);
      if (judge_.fits(candidate) && judge_.cost_us(candidate) == best_) return candidate;
      return std::nullopt;
    }
    for (const Branch& branch : branches_[dim]) {
      chosen_[dim] = branch.row;
      if (auto found = first_at_price(dim + 1, floor + branch.floor_us)) return found;
    }
    return std::nullopt;
  }

  const PropagationRequest& request_;
  Judge& judge_;
  std::vector<std::vector<Branch>> branches_;  // of each mesh dim, in the order of the rows
  std::vector<double> floor_behind_;
  std::vector<const StrategyRow*> chosen_;
  double best_ = infinite;
  bool has_any_ = false;
};

}  // namespace

std::optional<MeshCandidate> choose_rows(const PropagationRequest& request,
                                         const MeshRequest& mesh_request, const StrategyRows& rows,
                                         const ShardingStrategy& strategy, Moves moves) {
  Judge judge(request, mesh_request, strategy);
  RowSearch search(request, rows, judge);
  double cost_us = 0.0;
  if (request.attributes.get_or(attribute::of_list, false)) return search.first_cheapest(cost_us);
  bool has_negative = std::any_of(rows.begin(), rows.end(),
                                  [](const StrategyRow& row) { return row.cost_us < 0.0; });
  if (!has_negative) {
    if (auto unmoved = search.last_unmoved()) return unmoved;
    if (moves == Moves::left_out) return std::nullopt;
  }
  auto cheapest = search.first_cheapest(cost_us);
  if (has_negative && !(cost_us < 0.0))
    if (auto unmoved = search.last_unmoved()) return unmoved;
  return cheapest;
}

std::optional<MeshCandidate> choose_candidate(const PropagationRequest& request,
                                              const MeshRequest& mesh_request,
                                              std::vector<MeshCandidate> candidates,
                                              const ShardingStrategy& strategy) {
  Judge judge(request, mesh_request, strategy);
  std::optional<MeshCandidate> unmoved, cheapest;
  double least = infinite;
  for (MeshCandidate& candidate : candidates) {
    if (!judge.fits(candidate)) continue;
    double cost = judge.cost_us(candidate);
    if (cost == 0.0 && judge.moves_nothing(candidate)) unmoved = candidate;
    if (cheapest && !(cost < least)) continue;
    least = cost;
    cheapest = std::move(candidate);
  }
  return unmoved && !(least < 0.0) ? unmoved : cheapest;
}

}  // namespace simmesh
