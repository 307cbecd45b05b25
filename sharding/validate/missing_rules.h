#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sharding/validate/claimed_rules.h"
#include "sharding/validate/crafted_inputs.h"

namespace simmesh {

// MissingRules tries the combinations of placements that a strategy doesn't claim, trial by trial,
// and keeps those that held in all of them. Most fall in the first trial.
//
// A combination whose inputs are pending counts only if the outputs varied: what doesn't depend on
// the data can't be told from what does. Strided and ragged shards follow from plain ones and
// aren't tried. Where there are more than combinations_max combinations, fewer kinds of pending
// placements are: the rarest are left out first.
class MissingRules {
 public:
  static constexpr std::size_t combinations_max = 20'000;

  // judge tries, on one trial, all that is left.
  void judge(const WholeCall& call, const InputCandidates& candidates, const StrategyRows& claimed,
             const LocalRun& world, CraftedInputs& crafted);

  // found returns what held, "S(1),R -> S(1)" or, where several outputs hold, "... -> S(0)|S(1)";
  // nothing unless there was a trial of each number of ranks.
  std::vector<std::string> found() const;

  // combinations counts placements of inputs and outputs that were tried, over all trials.
  std::uint64_t combinations() const { return combinations_; }

 private:
  struct Trial;

  void begin(const WholeCall& call, const InputCandidates& candidates);
  void leave_out_claimed(const StrategyRows& claimed);
  void watch_outputs(const WholeCall& call);
  std::vector<std::size_t> digits_of(std::size_t combination) const;
  void try_combination(std::size_t combination, const Trial& trial);
  void try_with_outputs(std::size_t combination, const Trial& trial, MeshPlacements& placements);

  InputCandidates tried_;                         // of each input
  std::vector<std::vector<Placement>> outputs_;   // tried for each output
  std::vector<std::uint32_t> holds_;              // bits of outputs_, by combination and output
  std::vector<char> is_left_;                     // by combination
  std::vector<std::vector<double>> seen_;         // the first values of each output
  std::map<std::int64_t, std::uint64_t> trials_;  // by the number of ranks
  std::uint64_t combinations_ = 0;
};

}  // namespace simmesh
