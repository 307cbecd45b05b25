#include "sharding/validate/validate_sample.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/engine/options/arithmetic.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"
#include "sharding/strategies/strategy_of.h"
#include "sharding/validate/crafted_pieces.h"
#include "sharding/validate/local_gradient.h"
#include "sharding/validate/missing_rules.h"
#include "sharding/validate/outputs_difference.h"
#include "sharding/validate/rule_text.h"
#include "sharding/validate/sized_claims.h"
#include "sharding/validate/validation_sites.h"
#include "sharding/validate/world_run.h"

namespace simmesh {

namespace {

// Returns the placements that an input may have: replicated, cut along each dim of more than one
// element (plain, strided and ragged), and partial where its elements can be crafted so. A strided
// shard of a dim of fixed size may give some ranks nothing in every trial, so a rule could hold
// there by chance.
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
    for (std::int64_t members : {2, 3, 4}) {
      worlds_.emplace_back(Dims{members});
      cut_anywhere_.push_back(candidates_of(sample, members, true));
      cut_where_open_.push_back(candidates_of(sample, members, false));
    }
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
    std::size_t world = std::size_t(site.members - 2);
    judge_claims(*call, claims_.rules({site.members, site.sizes}, *call, cut_anywhere_[world]),
                 site);
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
        const InputCandidates& candidates = cut_where_open_[std::size_t(site.members - 2)];
        static const StrategyRows none;  // by their sizes, which no seed changes
        const StrategyRows& claimed =
            seed == 0 ? short_claims_.rules({site.members, site.sizes}, *call, candidates) : none;
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

  // Trial is one call in exact arithmetic, and what the judgements of its rules share.
  struct Trial {
    const WholeCall& call;
    const ValidationSite& site;
    KnownResults known = {};
    std::vector<WholeGradient> gradients = {};
  };

  // Judges the claimed rules in exact arithmetic, where no order of additions and no split changes
  // a sum.
  void judge_claims(const WholeCall& call, const StrategyRows& claimed,
                    const ValidationSite& site) {
    if (claimed.empty()) return;
    static const Arithmetic exact = Arithmetic::exact();
    ArithmeticScope scope(exact);
    WholeCall whole = whole_call(op_, strategy_, call.attributes, call.inputs);
    Trial trial{whole, site};
    const LocalRun& world = worlds_[std::size_t(site.members - 2)];
    CraftedInputs crafted(whole, world.mesh_shape(), site.craft_seed, &trial.known);
    for (const StrategyRow& rule : claimed) judge_rule(trial, rule, world, crafted);
    // With sizes for four ranks, two mesh dims of two can cut one tensor dim.
    if (options_.judges_two_dims && site.members != 3) judge_two_dims(trial, claimed);
  }

  void judge_rule(Trial& trial, const StrategyRow& rule, const LocalRun& world,
                  CraftedInputs& crafted) {
    RuleVerdict& verdict = verdict_.rules[rule_text(rule)];
    ++verdict.trials;
    ++verdict_.combinations;
    if (verdict.wrong) return;
    MeshPlacements placements = along_one_dim(rule);
    std::string wrong;
    try {
      std::vector<const std::vector<Tensor>*> pieces = crafted.of(placements);
      LocalOutputs outputs = run_claimed(world, trial.call, pieces, placements, &trial.known);
      KeepUnrounded sums;
      wrong = outputs_difference(trial.call, outputs, placements, world.mesh_shape(), &trial.known);
      if (wrong.empty() && options_.judges_gradients)
        wrong = gradients_differ({trial.call, rule, pieces, outputs}, trial, verdict);
    } catch (const Error& error) {
      wrong = fmt::format("raises {}", error.what());
    }
    if (!wrong.empty())
      verdict.wrong = CounterExample{fmt::format("{}", trial.site.members),
                                     inputs_text(trial.call, placements), wrong};
  }

  static std::string gradients_differ(const PlacedCall& placed, Trial& trial,
                                      RuleVerdict& verdict) {
    for (std::size_t i = 0; i < placed.call.outputs.size(); ++i) {
      if (!has_gradient(placed.call, i) || !is_differentiable(placed.rule, i, placed.call))
        continue;
      verdict.has_gradient = true;
      std::string wrong = gradient_difference(placed, gradient_of_output(trial, i));
      if (!wrong.empty()) return fmt::format("for output {}: {}", i, wrong);
    }
    return {};
  }

  static const WholeGradient& gradient_of_output(Trial& trial, std::size_t output) {
    for (const WholeGradient& known : trial.gradients)
      if (known.output == output) return known;
    Tensor drawn = drawn_like(trial.call.outputs[output], trial.site.craft_seed + output);
    return trial.gradients.emplace_back(whole_gradient(trial.call, output, drawn));
  }

  // Returns multiples of 2520^2, which counts divide.
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
  void judge_two_dims(Trial& trial, const StrategyRows& claimed) {
    std::vector<bool> holds;
    for (const StrategyRow& rule : claimed)
      holds.push_back(!verdict_.rules[rule_text(rule)].wrong && !is_ragged(rule));
    const Dims& mesh_shape = square_.mesh_shape();
    CraftedInputs crafted(trial.call, mesh_shape, trial.site.craft_seed, &trial.known);
    for (const MeshPlacements& placements :
         claims_.over_mesh({trial.site.members, trial.site.sizes}, trial.call, holds, mesh_shape)) {
      ++verdict_.combinations;
      std::string wrong;
      try {
        LocalOutputs outputs =
            run_claimed(square_, trial.call, crafted.of(placements), placements, &trial.known);
        KeepUnrounded sums;
        wrong = outputs_difference(trial.call, outputs, placements, mesh_shape, &trial.known);
      } catch (const Error& error) {
        wrong = fmt::format("raises {}", error.what());
      }
      if (wrong.empty()) continue;
      RuleVerdict& verdict = verdict_.over_two_dims[mesh_rule_text(placements)];
      if (!verdict.wrong)
        verdict.wrong = CounterExample{"2x2", inputs_text(trial.call, placements), wrong};
    }
  }

  const Op& op_;
  const ShardingStrategy& strategy_;
  const OpSample& sample_;
  const ValidateOptions& options_;
  std::vector<LocalRun> worlds_;  // of 2, 3 and 4 ranks, as the candidates
  std::vector<InputCandidates> cut_anywhere_, cut_where_open_;
  SizedClaims claims_{ShortDims::left_out}, short_claims_{ShortDims::allowed};
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
