#include "sharding/validate/missing_rules.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/tensor/convert.h"
#include "sharding/validate/crafted_pieces.h"
#include "sharding/validate/joined_pieces.h"
#include "sharding/validate/rule_text.h"

namespace simmesh {

namespace {

constexpr std::size_t seen_max = 16;

std::size_t count_of(const InputCandidates& candidates) {
  std::size_t count = 1;
  for (const auto& list : candidates) count *= std::max<std::size_t>(list.size(), 1);
  return count;
}

void leave_out(InputCandidates& candidates, std::initializer_list<ReduceOp> ops) {
  for (auto& list : candidates)
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const Placement& one) {
                                return one.is_plain_partial() &&
                                       std::find(ops.begin(), ops.end(), one.reduce_op()) !=
                                           ops.end();
                              }),
               list.end());
}

// A rule is missing only if it held on 2, on 3 and on 4 ranks.
constexpr std::size_t world_count = 3;

// True unless another reduction of a bool gives the same result: sum, max and bor do, and so do
// product, min and band.
bool is_one_of_its_kind(const Placement& partial, DType dtype) {
  if (dtype != DType::boolean) return true;
  ReduceOp op = partial.reduce_op();
  return op == ReduceOp::sum || op == ReduceOp::product || op == ReduceOp::bxor;
}

std::string text_with_plain_shard(const Placement& placement) {
  return placement_text(placement.splits() ? Shard(placement.dim()) : placement);
}

}  // namespace

bool MissingRules::is_tried(const Placement& placement, DType dtype) const {
  if (placement.is_replicate()) return true;
  if (placement.is_partial())
    return shards_ == Shards::plain && is_one_of_its_kind(placement, dtype);
  if (placement.is_strided_shard()) return shards_ == Shards::strided;
  return (shards_ == Shards::ragged) == placement.is_ragged_shard() && shards_ != Shards::strided;
}

std::vector<Placement> MissingRules::output_candidates(const TensorType& type,
                                                       std::int64_t ranks) const {
  std::vector<Placement> list = {Replicate()};
  if (!type.is_defined) return list;
  std::int64_t dims = std::int64_t(type.shape.size());
  for (std::int64_t dim = 0; dim < dims; ++dim) list.push_back(Shard(dim));
  if (shards_ == Shards::strided)
    for (std::int64_t dim = 0; dim < dims; ++dim) list.push_back(StridedShard(dim, 2));
  if (shards_ == Shards::ragged && dims > 0) list.push_back(ragged_candidate(ranks));
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max, ReduceOp::product,
                      ReduceOp::band, ReduceOp::bor, ReduceOp::bxor})
    if (can_craft(Partial(op), type.dtype) && is_one_of_its_kind(Partial(op), type.dtype))
      list.push_back(Partial(op));
  return list;
}

// Trial is one call, with the pieces that its outputs would have.
struct MissingRules::Trial {
  const WholeCall& call;
  const LocalRun& world;
  CraftedInputs& crafted;
  // By output, candidate and rank; made when they are asked for.
  mutable std::vector<std::vector<std::vector<Tensor>>> known_shards = {};
  // By input and choice; empty for an absent input.
  std::vector<std::vector<const std::vector<Tensor>*>> pieces = {};
  // By input and choice: the first choice whose pieces have the same shapes on each rank.
  std::vector<std::vector<std::size_t>> of_same_shapes = {};
  // True where the op refuses the shapes of a combination; by the choices in of_same_shapes.
  mutable std::map<Choices, bool> refused = {};

  // Makes the pieces of an input known.
  void add(std::size_t input, std::size_t choice, const std::vector<Tensor>& of_ranks) {
    pieces[input][choice] = &of_ranks;
    std::size_t first = 0;
    while (first < choice &&
           !(pieces[input][first] && have_shapes(*pieces[input][first], of_ranks)))
      ++first;
    of_same_shapes[input][choice] = first;
  }

  static bool have_shapes(gsl::span<const Tensor> a, gsl::span<const Tensor> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape(); });
  }

  // Returns true if the op refuses the shapes of some rank's pieces. Many combinations have the
  // same shapes: copies and all operands of partial tensors. So each shapes are asked for once.
  bool refuses_shapes(gsl::span<const std::size_t> choices) const {
    Choices alike(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i)
      if (!pieces[i].empty()) alike[i] = of_same_shapes[i][choices[i]];
    auto [known, is_new] = refused.try_emplace(std::move(alike), false);
    if (is_new) known->second = refuses_shapes_of_ranks(choices);
    return known->second;
  }

  bool refuses_shapes_of_ranks(gsl::span<const std::size_t> choices) const {
    TensorTypes types = call.input_types;
    try {
      for (std::size_t rank = 0; rank < world.ranks(); ++rank) {
        for (std::size_t i = 0; i < choices.size(); ++i)
          if (!pieces[i].empty()) types[i].shape = (*pieces[i][choices[i]])[rank].shape();
        infer_types(call.op, types, call.attributes);
      }
    } catch (const Error&) {
      return true;
    }
    return false;
  }

  // Returns the pieces of an output, by rank; none where it can't be cut so.
  const std::vector<Tensor>& shards(std::size_t output, std::size_t candidate,
                                    const Placement& placement) const {
    std::vector<Tensor>& known = known_shards[output][candidate];
    if (known.empty() && can_lie(call.output_types[output], placement))
      known = craft_pieces(call.outputs[output], Placements{placement}, world.mesh_shape(), 0);
    return known;
  }

  // Runs the op on one rank's pieces.
  std::vector<Tensor> run_rank(gsl::span<const std::size_t> choices, std::size_t rank) const {
    boost::container::small_vector<Tensor, 4> own(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i)
      if (!pieces[i].empty()) own[i] = (*pieces[i][choices[i]])[rank];
    return simmesh::call(call.op, {own.data(), own.size()}, call.attributes);
  }

  // Raises what the op raises on ranks whose pieces have other shapes than those of the first rank:
  // a call that any rank refuses counts once, whatever the others compute.
  void refuse_other_shapes(gsl::span<const std::size_t> choices) const {
    for (std::size_t rank = 1; rank < world.ranks(); ++rank) {
      bool are_same = true;
      for (std::size_t i = 0; i < choices.size(); ++i) {
        if (pieces[i].empty()) continue;
        const std::vector<Tensor>& of_input = *pieces[i][choices[i]];
        are_same = are_same && of_input[rank].shape() == of_input[0].shape();
      }
      if (!are_same) run_rank(choices, rank);
    }
  }

  // Returns false if the first rank's results alone show that an output doesn't have a placement.
  bool may_hold(gsl::span<const Tensor> of_first_rank, std::size_t output, std::size_t candidate,
                const Placement& placement) const {
    if (of_first_rank.size() != call.outputs.size()) return false;
    const Tensor &whole = call.outputs[output], &own = of_first_rank[output];
    if (placement.is_replicate()) return same_elements(own, whole);
    if (!placement.splits()) return own.shape() == whole.shape();
    const std::vector<Tensor>& expected = shards(output, candidate, placement);
    return !expected.empty() && same_elements(own, expected[0]);
  }

  // Returns true if the ranks' pieces of an output have the placement of a candidate.
  bool holds(const LocalOutputs& outputs, std::size_t output, std::size_t candidate,
             const Placement& placement) const {
    const Tensor& whole = call.outputs[output];
    const auto& own = outputs.of_rank;
    for (const auto& of_rank : own)
      if (of_rank.size() != call.outputs.size()) return false;  // as many as a piece has: unbind
    if (placement.splits()) {
      const std::vector<Tensor>& expected = shards(output, candidate, placement);
      if (expected.empty()) return false;
      for (std::size_t rank = 0; rank < own.size(); ++rank)
        if (!same_elements(own[rank][output], expected[rank])) return false;
      return true;
    }
    if (placement.is_replicate()) {
      for (const auto& of_rank : own)
        if (!same_elements(of_rank[output], whole)) return false;
      return true;
    }
    std::vector<Tensor> operands;
    for (const auto& of_rank : own) {
      if (of_rank[output].shape() != whole.shape()) return false;
      operands.push_back(of_rank[output]);
    }
    return same_elements(reduced_pieces(operands, placement.reduce_op()), whole);
  }
};

InputCandidates MissingRules::tried_of(const WholeCall& call,
                                       const InputCandidates& candidates) const {
  InputCandidates tried;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    auto& list = tried.emplace_back();
    for (const Placement& one : candidates[i])
      if (is_tried(one, call.input_types[i].dtype)) list.push_back(one);
  }
  for (auto ops : {std::initializer_list<ReduceOp>{ReduceOp::band, ReduceOp::bor, ReduceOp::bxor},
                   {ReduceOp::product},
                   {ReduceOp::min, ReduceOp::max},
                   {ReduceOp::avg}})
    if (count_of(tried) > combinations_max) leave_out(tried, ops);
  return tried;
}

void MissingRules::begin(const WholeCall& call) {
  seen_.resize(call.outputs.size());
  std::size_t count = count_of(tried_);
  if (count > combinations_max) return;
  Combination next;
  next.choices.resize(tried_.size());
  next.held.resize(call.outputs.size(), ~Candidates());
  while (combinations_.size() < count) {
    combinations_.push_back(next);
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (++next.choices[i] < tried_[i].size()) break;
      next.choices[i] = 0;
    }
  }
  combinations_[0].is_left = false;  // all are replicated
}

void MissingRules::leave_out_claimed(const StrategyRows& claimed) {
  for (const StrategyRow& rule : claimed) {
    std::size_t index = 0, place = 1;
    bool is_listed = true;
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (tried_[i].empty()) continue;
      auto found =
          std::find(tried_[i].begin(), tried_[i].end(), rule.inputs[i].value_or(Replicate()));
      is_listed = is_listed && found != tried_[i].end();
      index += place * std::size_t(found - tried_[i].begin());
      place *= tried_[i].size();
    }
    if (is_listed) combinations_[index].is_left = false;
  }
}

void MissingRules::watch_outputs(const WholeCall& call) {
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.outputs[i].is_defined() || seen_[i].size() >= seen_max) continue;
    Tensor wide = converted(call.outputs[i], DType::float64);
    for (double value : wide.values<double>())
      if (seen_[i].size() < seen_max &&
          std::find(seen_[i].begin(), seen_[i].end(), value) == seen_[i].end())
        seen_[i].push_back(value);
  }
}

void MissingRules::judge(const WholeCall& call, const InputCandidates& candidates,
                         const StrategyRows& claimed, const LocalRun& world,
                         CraftedInputs& crafted) {
  std::int64_t ranks = std::int64_t(world.ranks());
  tried_ = tried_of(call, candidates);
  if (combinations_.empty()) begin(call);
  if (combinations_.empty()) return;  // too many
  SIMMESH_CHECK(combinations_.size() == count_of(tried_), "the candidates of {} changed",
                call.op.name);
  if (!has_any() || seen_.size() != call.outputs.size()) return;  // the latter for unbind
  outputs_.clear();
  for (const TensorType& type : call.output_types)
    outputs_.push_back(output_candidates(type, ranks));
  leave_out_claimed(claimed);
  watch_outputs(call);
  Trial trial{call, world, crafted};
  for (const auto& list : outputs_) trial.known_shards.emplace_back(list.size());
  for (const auto& list : tried_) {
    trial.pieces.emplace_back(list.size(), nullptr);
    trial.of_same_shapes.emplace_back(list.size());
  }
  for (Combination& combination : combinations_) {
    if (!combination.is_left || !can_be_cut(combination, call)) continue;
    combination.tried_on.set(world.ranks());
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (tried_[i].empty()) continue;
      std::size_t choice = combination.choices[i];
      if (!trial.pieces[i][choice])
        trial.add(i, choice, crafted.pieces(i, {*placement_of(combination, i)}));
    }
    try_combination(combination, trial);
  }
}

const Placement* MissingRules::placement_of(const Combination& combination,
                                            std::size_t input) const {
  return tried_[input].empty() ? nullptr : &tried_[input][combination.choices[input]];
}

// False if an input has a ragged shard whose units don't divide its dim. Then the combination says
// nothing of a rule.
bool MissingRules::can_be_cut(const Combination& combination, const WholeCall& call) const {
  for (std::size_t i = 0; i < tried_.size(); ++i) {
    const Placement* placement = placement_of(combination, i);
    if (placement && !can_lie(call.input_types[i], *placement)) return false;
  }
  return true;
}

// A combination that the op refuses isn't a rule.
void MissingRules::try_combination(Combination& combination, const Trial& trial) {
  const ShardingStrategy& strategy = trial.call.strategy;
  if (strategy.compute || strategy.local_attributes) return try_with_outputs(combination, trial);
  bool is_refused = trial.refuses_shapes({combination.choices.data(), combination.choices.size()});
  try {
    if (!is_refused) try_each_output(combination, trial);
  } catch (const Error&) {
    is_refused = true;
  }
  if (!is_refused) return;
  ++tried_count_;
  combination.is_left = false;
}

// True if the first rank's results leave a candidate for each output.
bool MissingRules::may_hold(const Combination& combination, const Trial& trial,
                            gsl::span<const Tensor> of_first_rank) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    bool may = false;
    for (std::size_t candidate = 0; candidate < outputs_[i].size() && !may; ++candidate)
      may = combination.held[i][candidate] &&
            trial.may_hold(of_first_rank, i, candidate, outputs_[i][candidate]);
    if (!may) return false;
  }
  return true;
}

// Most combinations fall with the results of the first rank.
void MissingRules::try_each_output(Combination& combination, const Trial& trial) {
  gsl::span<const std::size_t> choices(combination.choices.data(), combination.choices.size());
  LocalOutputs outputs;
  outputs.of_rank.reserve(trial.world.ranks());
  outputs.of_rank.push_back(trial.run_rank(choices, 0));
  if (!may_hold(combination, trial, outputs.of_rank[0])) {
    trial.refuse_other_shapes(choices);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      for (std::size_t candidate = 0; candidate < outputs_[i].size(); ++candidate)
        tried_count_ += combination.held[i][candidate];
    combination.is_left = false;
    return;
  }
  for (std::size_t rank = 1; rank < trial.world.ranks(); ++rank)
    outputs.of_rank.push_back(trial.run_rank(choices, rank));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Candidates still_held;
    for (std::size_t candidate = 0; candidate < outputs_[i].size(); ++candidate) {
      if (!combination.held[i][candidate]) continue;
      ++tried_count_;
      still_held[candidate] = trial.holds(outputs, i, candidate, outputs_[i][candidate]);
    }
    combination.held[i] = still_held;
    if (still_held.none()) combination.is_left = false;
  }
}

// Tries the candidates for the placement of the outputs, which all outputs share. The ranks compute
// one after the other, because their results depend on the placement.
void MissingRules::try_with_outputs(Combination& combination, const Trial& trial) {
  MeshPlacements placements;
  for (std::size_t i = 0; i < tried_.size(); ++i) {
    const Placement* placement = placement_of(combination, i);
    placements.inputs.push_back(placement ? std::optional(Placements{*placement}) : std::nullopt);
  }
  Candidates still_held;
  for (std::size_t candidate = 0; candidate < outputs_[0].size(); ++candidate) {
    if (!combination.held[0][candidate]) continue;
    ++tried_count_;
    const Placement& placement = outputs_[0][candidate];
    bool holds = true;
    try {
      placements.outputs.assign(outputs_.size(), Placements{placement});
      LocalOutputs outputs = trial.world.run(trial.call, trial.crafted.of(placements), placements);
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        auto same = std::find(outputs_[i].begin(), outputs_[i].end(), placement);
        holds = holds && same != outputs_[i].end() &&
                trial.holds(outputs, i, std::size_t(same - outputs_[i].begin()), placement);
      }
    } catch (const Error&) {
      holds = false;
    }
    still_held[candidate] = holds;
  }
  for (Candidates& held : combination.held) held = still_held;
  if (still_held.none()) combination.is_left = false;
}

bool MissingRules::has_any() const {
  return std::any_of(combinations_.begin(), combinations_.end(),
                     [](const Combination& combination) { return combination.is_left; });
}

MissingRule MissingRules::rule_of(const Combination& combination) const {
  MissingRule rule;
  auto add = [&](std::string_view separator, const Placement* placement) {
    rule.text += separator;
    rule.with_plain_shards += separator;
    rule.text += placement ? placement_text(*placement) : "-";
    rule.with_plain_shards += placement ? text_with_plain_shard(*placement) : "-";
  };
  for (std::size_t i = 0; i < tried_.size(); ++i) add(i ? "," : "", placement_of(combination, i));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    std::string_view separator = i ? "," : " -> ";
    for (std::size_t candidate = 0; candidate < outputs_[i].size(); ++candidate)
      if (combination.held[i][candidate]) {
        add(separator, &outputs_[i][candidate]);
        if (candidate == 0) break;  // a replicated output has every other candidate, too
        separator = "|";
      }
  }
  return rule;
}

bool MissingRules::has_partial(const Combination& combination) const {
  for (std::size_t i = 0; i < tried_.size(); ++i) {
    const Placement* placement = placement_of(combination, i);
    if (placement && placement->is_partial()) return true;
  }
  return false;
}

std::vector<MissingRule> MissingRules::found() const {
  std::vector<MissingRule> rules;
  bool varies =
      std::all_of(seen_.begin(), seen_.end(), [](const auto& values) { return values.size() > 1; });
  for (const Combination& combination : combinations_)
    if (combination.is_left && combination.tried_on.count() == world_count &&
        (varies || !has_partial(combination)))
      rules.push_back(rule_of(combination));
  return rules;
}

}  // namespace simmesh
