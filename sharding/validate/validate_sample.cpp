#include "sharding/validate/validate_sample.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/engine/options/arithmetic.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"
#include "sharding/strategies/strategy_of.h"
#include "sharding/validate/claimed_rules.h"
#include "sharding/validate/crafted_pieces.h"
#include "sharding/validate/local_gradient.h"
#include "sharding/validate/missing_rules.h"
#include "sharding/validate/outputs_difference.h"
#include "sharding/validate/rule_text.h"
#include "sharding/validate/validation_sites.h"
#include "sharding/validate/world_run.h"

namespace simmesh {

namespace {

// Where an input may lie: replicated, cut along each dim of more than one element, plainly, strided
// and raggedly, and partial where its elements can be crafted so. A strided shard of a dim of fixed
// size may give some ranks nothing in every trial, so that what holds there may hold by chance.
InputCandidates candidates_of(const OpSample& sample, std::int64_t members, bool cuts_fixed_dims) {
  InputCandidates candidates;
  for (const SampleInput& input : parse_sample_inputs(sample.inputs)) {
    auto& list = candidates.emplace_back();
    if (input.is_absent) continue;
    list.push_back(Replicate());
    for (std::size_t dim = 0; dim < input.dims.size(); ++dim)
      if (input.size(dim, SampleSizes()) != 1) list.push_back(Shard(std::int64_t(dim)));
    bool is_integer = std::string_view("niw").find(input.elements) != std::string_view::npos;
    DType dtype = input.elements == 'b' ? DType::boolean
                  : is_integer          ? DType::int64
                                        : DType::float64;
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max,
                        ReduceOp::product, ReduceOp::band, ReduceOp::bor, ReduceOp::bxor})
      if (can_craft(Partial(op), dtype)) list.push_back(Partial(op));
    for (std::size_t dim = 0; dim < input.dims.size(); ++dim)
      if (cuts_fixed_dims ? input.size(dim, SampleSizes()) != 1 : !input.dims[dim].letters.empty())
        list.push_back(StridedShard(std::int64_t(dim), 2));
    if (!input.dims.empty()) list.push_back(ragged_candidate(members));
  }
  return candidates;
}

// A rule that nobody claims must hold with that many seeds.
constexpr std::uint64_t missing_seeds = 8;

class SampleValidator {
 public:
  SampleValidator(const Op& op, const ShardingStrategy& strategy, const OpSample& sample,
                  const ValidateOptions& options)
      : op_(op), strategy_(strategy), sample_(sample), options_(options) {
    for (std::int64_t members : {2, 3, 4}) worlds_.emplace_back(Dims{members});
    verdict_.call = call_text(sample, SampleSizes());
  }

  SampleVerdict verdict() && {
    for (const ValidationSite& site : validation_sites(sample_, options_.seed)) judge(site);
    if (options_.finds_missing && !strategy_.only_aligns) find_missing();
    return std::move(verdict_);
  }

 private:
  // Returns nothing where the op itself refuses such sizes or data.
  std::optional<WholeCall> call_at(const ValidationSite& site) const {
    std::optional<WholeCall> call;
    try {
      call.emplace(whole_call(op_, strategy_, sample_.attributes_at(site.sizes),
                              sample_inputs(sample_, site.sizes, site.data)));
    } catch (const Error&) {
    }
    return call;
  }

  void judge(const ValidationSite& site) {
    std::optional<WholeCall> call = call_at(site);
    if (!call) return;
    ++verdict_.trials;
    const LocalRun& world = worlds_[std::size_t(site.members - 2)];
    InputCandidates candidates = candidates_of(sample_, site.members, true);
    StrategyRows claimed = claimed_rules(*call, candidates, site.members);
    CraftedInputs crafted(*call, world.mesh_shape(), site.craft_seed);
    judge_claims(*call, claimed, world, crafted, site);
  }

  // Finds the missing rules. They don't depend on the seed of the request: the same data are always
  // tried.
  void find_missing() {
    MissingRules plain, strided(MissingRules::Shards::strided),
        ragged(MissingRules::Shards::ragged);
    auto goes_on = [&](std::uint64_t seed) {
      if (seed == 0) return true;
      return seed < missing_seeds && (plain.has_any() || strided.has_any() || ragged.has_any());
    };
    for (std::uint64_t seed = 0; goes_on(seed); ++seed)
      for (const ValidationSite& site : validation_sites(sample_, seed)) {
        std::optional<WholeCall> call = call_at(site);
        if (!call) continue;
        const LocalRun& world = worlds_[std::size_t(site.members - 2)];
        InputCandidates candidates = candidates_of(sample_, site.members, false);
        StrategyRows claimed;  // by their sizes, which no seed changes
        if (seed == 0) claimed = claimed_rules(*call, candidates, site.members, ShortDims::allowed);
        CraftedInputs crafted(*call, world.mesh_shape(), site.craft_seed);
        for (MissingRules* rules : {&plain, &strided, &ragged})
          rules->judge(*call, candidates, claimed, world, crafted);
      }
    std::vector<std::string> known;
    for (const MissingRule& rule : plain.found()) known.push_back(rule.text);
    verdict_.missing = known;
    verdict_.combinations += plain.combinations();
    add_further(strided, known);
    add_further(ragged, known);
  }

  // A rule that is missing with plain shards isn't listed with others as well.
  void add_further(const MissingRules& rules, const std::vector<std::string>& known) {
    verdict_.combinations += rules.combinations();
    for (const MissingRule& rule : rules.found())
      if (std::find(known.begin(), known.end(), rule.with_plain_shards) == known.end())
        verdict_.missing.push_back(rule.text);
  }

  // In exact arithmetic, where no order of additions and no split changes a sum.
  void judge_claims(const WholeCall& call, const StrategyRows& claimed, const LocalRun& world,
                    CraftedInputs& crafted, const ValidationSite& site) {
    if (claimed.empty()) return;
    static const Arithmetic exact = Arithmetic::exact();
    ArithmeticScope scope(exact);
    WholeCall whole = whole_call(op_, strategy_, call.attributes, call.inputs);
    for (const StrategyRow& rule : claimed) judge_rule(whole, rule, world, crafted, site);
    // Sizes for four ranks are those that two mesh dims of two can cut one dim of.
    if (options_.judges_two_dims && site.members != 3) judge_two_dims(whole, claimed, site);
  }

  void judge_rule(const WholeCall& call, const StrategyRow& rule, const LocalRun& world,
                  CraftedInputs& crafted, const ValidationSite& site) {
    RuleVerdict& verdict = verdict_.rules[rule_text(rule)];
    ++verdict.trials;
    ++verdict_.combinations;
    if (verdict.wrong) return;
    std::string wrong;
    try {
      MeshPlacements placements = along_one_dim(rule);
      std::vector<const std::vector<Tensor>*> pieces = crafted.of(placements);
      LocalOutputs outputs = run_claimed(world, call, pieces, placements);
      KeepUnrounded sums;
      wrong = outputs_difference(call, outputs, placements, world.mesh_shape());
      if (wrong.empty() && options_.judges_gradients)
        wrong = gradients_differ({call, rule, pieces, outputs}, site, verdict);
    } catch (const Error& error) {
      wrong = fmt::format("raises {}", error.what());
    }
    if (!wrong.empty())
      verdict.wrong = CounterExample{fmt::format("{}", site.members),
                                     inputs_text(call, along_one_dim(rule)), wrong};
  }

  static std::string gradients_differ(const PlacedCall& placed, const ValidationSite& site,
                                      RuleVerdict& verdict) {
    for (std::size_t i = 0; i < placed.call.outputs.size(); ++i) {
      if (!has_gradient(placed.call, i) || !is_differentiable(placed.rule, i, placed.call))
        continue;
      verdict.has_gradient = true;
      Tensor gradient = drawn_like(placed.call.outputs[i], site.craft_seed + i);
      std::string wrong = gradient_difference(placed, i, gradient);
      if (!wrong.empty()) return fmt::format("for output {}: {}", i, wrong);
    }
    return {};
  }

  // Multiples of 2520^2, which counts divide.
  static Tensor drawn_like(const Tensor& output, std::uint64_t seed) {
    static const OpSample row = {"", "D:a"};
    SampleSizes sizes;
    sizes.set('a', output.numel());
    Tensor drawn = sample_inputs(row, sizes, {.seed = seed})[0].view(output.shape());
    return converted(drawn, output.dtype());
  }

  static bool is_ragged(const StrategyRow& rule) {
    return rule_text(rule).find("Ragged") != std::string::npos;
  }

  // Only rules that hold along one mesh dim are combined.
  void judge_two_dims(const WholeCall& call, const StrategyRows& claimed,
                      const ValidationSite& site) {
    StrategyRows rules;
    for (const StrategyRow& rule : claimed)
      if (!verdict_.rules[rule_text(rule)].wrong && !is_ragged(rule)) rules.push_back(rule);
    if (rules.empty()) return;
    rules.push_back(StrategyRow(rules.front()));
    for (auto* entries : {&rules.back().inputs, &rules.back().outputs})
      for (auto& entry : *entries)
        if (entry) entry = Replicate();
    CraftedInputs crafted(call, square_.mesh_shape(), site.craft_seed);
    for (const MeshPlacements& placements : claimed_over_mesh(call, rules, square_.mesh_shape())) {
      ++verdict_.combinations;
      std::string wrong;
      try {
        LocalOutputs outputs = run_claimed(square_, call, crafted.of(placements), placements);
        KeepUnrounded sums;
        wrong = outputs_difference(call, outputs, placements, square_.mesh_shape());
      } catch (const Error& error) {
        wrong = fmt::format("raises {}", error.what());
      }
      if (wrong.empty()) continue;
      RuleVerdict& verdict = verdict_.over_two_dims[mesh_rule_text(placements)];
      if (!verdict.wrong)
        verdict.wrong = CounterExample{"2x2", inputs_text(call, placements), wrong};
    }
  }

  const Op& op_;
  const ShardingStrategy& strategy_;
  const OpSample& sample_;
  const ValidateOptions& options_;
  std::vector<LocalRun> worlds_;
  LocalRun square_{Dims{2, 2}};
  SampleVerdict verdict_;
};

}  // namespace

SampleVerdict validate_sample(const Op& op, const OpSample& sample,
                              const ValidateOptions& options) {
  const ShardingStrategy* strategy = strategy_of(op);
  SampleVerdict none;
  none.call = call_text(sample, SampleSizes());
  if (!strategy || strategy->decomposition) return none;
  return SampleValidator(op, *strategy, sample, options).verdict();
}

}  // namespace simmesh
