#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/nn/moe.h"

namespace simmesh {

// TokenNumbers are the numbers that this rank's tokens have on one device, in the order in which
// the rank has them, and the number of all tokens.
struct TokenNumbers {
  std::vector<std::int64_t> own;
  std::int64_t count = 0;
};

// numbers_along returns the numbers of the tokens of x [..., width], which is cut along a dim into
// the ranks' parts of these lengths.
TokenNumbers numbers_along(std::int64_t dim, const Shape& x,
                           const std::vector<std::int64_t>& lengths, std::int64_t rank);

// TokenRanking decides for the tokens of this rank what one device decides for all tokens, so that
// no cut of the batch changes which tokens an expert takes: data, sequence or micro-batches.
//
// The tokens of a rank form runs of consecutive numbers. In order of their numbers, the runs of all
// ranks are the whole batch. Ranks add up the counts of each run, by choice and expert, in one sum
// of int64 [top_k, runs, experts]. The place of a token at an expert is the exclusive sum of these
// counts over the runs before its own, and before it in its run: over its own choice, after all
// tokens of the choices before (DropOrder::choice), or over all choices (DropOrder::position). For
// DropOrder::probability the ranks gather the choices and scores of all tokens instead, [tokens,
// top_k]. It is within the capacity if its place is below it.
class TokenRanking {
 public:
  // AllSum adds a tensor over the ranks that have different tokens; empty where one has all.
  using AllSum = std::function<Tensor(const Tensor& value)>;

  // All ranks make one together: one sum of int64 [tokens]. Raises a ValueError where a token is on
  // several ranks or on none.
  TokenRanking(TokenNumbers numbers, AllSum all_sum);

  // All ranks call it together. Tokens that no rank may drop cost one sum of int64 [experts].
  nn::RoutingDecision decide(const nn::Moe& moe, const nn::Routing& routing) const;

 private:
  void find_runs();
  Tensor summed(const Tensor& value) const { return all_sum_ ? all_sum_(value) : value; }
  std::vector<bool> kept_by_place(const nn::ExpertLimits& limits, const nn::Routing& routing,
                                  std::vector<std::int64_t>& loads) const;
  std::vector<bool> kept_by_score(const nn::ExpertLimits& limits, const nn::Routing& routing,
                                  std::vector<std::int64_t>& loads) const;

  TokenNumbers numbers_;
  AllSum all_sum_;
  std::vector<std::int64_t> order_;  // own tokens, by number
  std::vector<std::int64_t> run_;    // of each of these: its run among those of all ranks
  std::int64_t runs_ = 0;
};

}  // namespace simmesh
