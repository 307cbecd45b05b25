#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/validate/claimed_rules.h"
#include "sharding/validate/crafted_inputs.h"

namespace simmesh {

// MissingRule is one that held: "S(1),R -> S(1)" or, where several outputs hold, "... ->
// S(0)|S(1)".
struct MissingRule {
  std::string text;
  std::string with_plain_shards;  // the same with plain shards in the places of others
};

// MissingRules tries the combinations of placements that a strategy doesn't claim, trial by trial,
// and keeps those that held in all of them. Most fall in the first trial.
//
// The shards of all inputs are of one kind. Beside plain ones inputs may be partial; such a
// combination counts only if the outputs varied: what doesn't depend on the data can't be told from
// what does. Where there are more than combinations_max combinations, fewer kinds of partial
// placements are tried: the rarest are left out first.
class MissingRules {
 public:
  static constexpr std::size_t combinations_max = 20'000;

  enum class Shards : std::uint8_t { plain, strided, ragged };
  explicit MissingRules(Shards shards = Shards::plain) : shards_(shards) {}

  // judge tries, on one trial, all that is left.
  void judge(const WholeCall& call, const InputCandidates& candidates, const StrategyRows& claimed,
             const LocalRun& world, CraftedInputs& crafted);

  // found returns what held of all that was tried on each number of ranks.
  std::vector<MissingRule> found() const;

  // has_any says whether a combination held in all trials so far.
  bool has_any() const;

  // combinations counts placements of inputs and outputs that were tried, over all trials.
  std::uint64_t combinations() const { return combinations_; }

 private:
  struct Trial;

  bool is_tried(const Placement& placement, DType dtype) const;
  InputCandidates tried_of(const WholeCall& call, const InputCandidates& candidates) const;
  std::vector<Placement> output_candidates(const TensorType& type, std::int64_t ranks) const;
  void begin(const WholeCall& call);
  bool can_be_cut(std::size_t combination, const WholeCall& call) const;
  void leave_out_claimed(const StrategyRows& claimed);
  void watch_outputs(const WholeCall& call);
  std::vector<std::size_t> digits_of(std::size_t combination) const;
  MissingRule rule_of(std::size_t combination) const;
  void try_combination(std::size_t combination, const Trial& trial);
  void try_with_outputs(std::size_t combination, const Trial& trial, MeshPlacements& placements);

  Shards shards_;
  InputCandidates tried_;                        // of each input, on the ranks of the last trial
  std::vector<std::vector<Placement>> outputs_;  // the same of each output
  std::vector<std::uint32_t> holds_;             // bits of outputs_, by combination and output
  std::vector<char> is_left_;                    // by combination
  std::vector<std::uint32_t> tried_on_;          // by combination: bits of the numbers of ranks
  std::vector<std::vector<double>> seen_;        // the first values of each output
  std::uint64_t combinations_ = 0;
};

}  // namespace simmesh
