#pragma once

#include <bitset>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "sharding/validate/claimed_rules.h"
#include "sharding/validate/crafted_inputs.h"

namespace simmesh {

// MissingRule is a rule that held: "S(1),R -> S(1)" or, where several outputs hold, "... ->
// S(0)|S(1)".
struct MissingRule {
  std::string text;
  std::string with_plain_shards;  // the same with plain shards in the places of others
};

// MissingRules tries the combinations of placements that a strategy doesn't claim, trial by trial,
// and keeps those that held in all of them. Most fall in the first trial.
//
// The shards of all inputs are of one kind. Beside plain shards inputs may be partial. Such a
// combination counts only if the outputs varied: otherwise an output that depends on the data can't
// be told from one that doesn't. Where there are more than combinations_max combinations, the
// rarest kinds of partial placements are left out first.
class MissingRules {
 public:
  static constexpr std::size_t combinations_max = 20'000;

  enum class Shards : std::uint8_t { plain, strided, ragged };
  explicit MissingRules(Shards shards = Shards::plain) : shards_(shards) {}

  // judge tries the combinations that are left, on one trial.
  void judge(const WholeCall& call, const InputCandidates& candidates, const StrategyRows& claimed,
             const LocalRun& world, CraftedInputs& crafted);

  // found returns the combinations that held whenever they were tried, on each number of ranks.
  std::vector<MissingRule> found() const;

  // has_any is true if a combination held in all trials so far.
  bool has_any() const;

  // combinations counts placements of inputs and outputs that were tried, over all trials.
  std::uint64_t combinations() const { return tried_count_; }

 private:
  struct Trial;

  // Candidates are some of the placements that are tried for an output, by index.
  using Candidates = std::bitset<32>;

  // Choices are by input: an index in tried_; 0 for an absent input.
  using Choices = boost::container::small_vector<std::size_t, 4>;

  // Combination is one placement for each input, with its results so far.
  struct Combination {
    Choices choices;
    // By output: the candidates that held in all trials so far.
    boost::container::small_vector<Candidates, 2> held;
    std::bitset<5> tried_on;  // numbers of ranks: 2, 3, 4
    bool is_left = true;      // neither claimed nor refuted
  };

  bool is_tried(const Placement& placement, DType dtype) const;
  InputCandidates tried_of(const WholeCall& call, const InputCandidates& candidates) const;
  std::vector<Placement> output_candidates(const TensorType& type, std::int64_t ranks) const;
  void begin(const WholeCall& call);
  void leave_out_claimed(const StrategyRows& claimed);
  void watch_outputs(const WholeCall& call);
  bool can_be_cut(const Combination& combination, const WholeCall& call) const;
  void try_combination(Combination& combination, const Trial& trial);
  void try_each_output(Combination& combination, const Trial& trial);
  bool may_hold(const Combination& combination, const Trial& trial,
                gsl::span<const Tensor> of_first_rank) const;
  void try_with_outputs(Combination& combination, const Trial& trial);
  // placement_of returns the placement of an input in a combination, null for an absent input.
  const Placement* placement_of(const Combination& combination, std::size_t input) const;
  bool has_partial(const Combination& combination) const;
  MissingRule rule_of(const Combination& combination) const;

  Shards shards_;
  InputCandidates tried_;                        // of each input, on the ranks of the last trial
  std::vector<std::vector<Placement>> outputs_;  // the same of each output
  std::vector<Combination> combinations_;        // the first input's choice changes fastest
  std::vector<std::vector<double>> seen_;        // the first values of each output
  std::uint64_t tried_count_ = 0;
};

}  // namespace simmesh
