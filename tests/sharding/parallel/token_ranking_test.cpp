#include "sharding/parallel/token_ranking.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/tensor/vector_of.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

// The tokens that each rank's experts take are those of one device, for every way to spread tokens
// over ranks.
namespace simmesh {
namespace {

using testing::expect_error;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t case_experts = 3;

// The choices of some tokens by number; scores repeat, so that there are ties.
struct ChoiceCase {
  std::int64_t tokens, top_k;
  Numbers experts;

  Tensor chosen() const { return vector_of<std::int64_t>(experts).view(DimSpan({tokens, top_k})); }
  Tensor scores() const {
    Tensor result = empty({tokens, top_k}, DType::float32);
    auto values = result.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = float((3 * i + std::size_t(experts[i])) % 4) / 4;
    return result;
  }
};

// All ordered choices of different experts: each number below count() is one case.
std::int64_t choices_of_a_token(std::int64_t top_k) {
  return top_k == 1 ? case_experts : case_experts * (case_experts - 1);
}

ChoiceCase case_of(std::int64_t tokens, std::int64_t top_k, std::int64_t number) {
  ChoiceCase result{tokens, top_k, {}};
  for (std::int64_t token = 0; token < tokens; ++token) {
    std::int64_t choice = number % choices_of_a_token(top_k);
    number /= choices_of_a_token(top_k);
    std::int64_t first = choice % case_experts;
    result.experts.push_back(first);
    if (top_k == 2) result.experts.push_back((first + 1 + choice / case_experts) % case_experts);
  }
  return result;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

// The rows of a tensor at these tokens.
Tensor rows_at(const Tensor& all, const Numbers& tokens) {
  Tensor rows = empty(DimSpan({std::int64_t(tokens.size()), all.size(1)}), all.dtype());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Tensor row = rows.narrow({0, std::int64_t(i), 1});
    copy_(row, all.narrow({0, tokens[i], 1}));
  }
  return rows;
}

nn::Moe moe_of(std::int64_t top_k, nn::DropOrder drop, double factor) {
  return nn::Moe({.width = 1,
                  .hidden = 1,
                  .experts = case_experts,
                  .top_k = top_k,
                  .capacity_factor = factor,
                  .router = {.drop = drop, .aux_loss = 1.0}});
}

// Returns what one device decides, for these tokens, in their order.
std::vector<nn::ExpertTokens> taken_on_one_device(const nn::Moe& moe, const ChoiceCase& all,
                                                  const Numbers& own) {
  nn::ExpertLimits limits{case_experts, moe.capacity_of(all.tokens), moe.options().router.drop};
  std::vector<bool> kept = nn::kept_slots(all.chosen(), limits, all.scores()), mine;
  for (std::int64_t token : own)
    for (std::int64_t choice = 0; choice < all.top_k; ++choice)
      mine.push_back(kept[std::size_t(token * all.top_k + choice)]);
  return nn::tokens_of_experts(rows_at(all.chosen(), own), case_experts, mine);
}

void check_decision(const TokenRanking& ranking, const nn::Moe& moe, const ChoiceCase& all,
                    const Numbers& own) {
  nn::Routing routing{.experts = rows_at(all.chosen(), own), .chosen = rows_at(all.scores(), own)};
  nn::RoutingDecision decision = ranking.decide(moe, routing);
  std::vector<nn::ExpertTokens> expected = taken_on_one_device(moe, all, own);
  for (std::size_t expert = 0; expert < expected.size(); ++expert)
    if (decision.experts[expert].slots != expected[expert].slots)
      raise(ErrorKind::runtime_error, "test", "expert {} takes other tokens than on one device",
            expert);
  if (decision.load.loads != nn::loads_of(all.chosen(), case_experts) ||
      decision.load.tokens != all.tokens)
    raise(ErrorKind::runtime_error, "test", "other loads than on one device");
}

TokenRanking::AllSum sum_over(const ProcessGroup& group) {
  return [group](const Tensor& value) { return all_reduce(value, ReduceOp::sum, group); };
}

// Every `stride`-th of all cases, spread in every way over the ranks: none at an expert, all at
// one, ranks without tokens, runs of one token.
void check_every_way(std::int64_t tokens, std::int64_t top_k, std::int64_t stride,
                     const DeviceMesh& mesh) {
  ProcessGroup group = process_group(mesh);
  std::int64_t cases = power(choices_of_a_token(top_k), tokens), number = 0;
  for (std::int64_t ways = 0; ways < power(group.size(), tokens); ++ways) {
    TokenNumbers numbers{{}, tokens};
    for (std::int64_t token = 0; token < tokens; ++token)
      if (ways / power(group.size(), token) % group.size() == group.rank())
        numbers.own.push_back(token);
    TokenRanking ranking(numbers, sum_over(group));
    for (; number < cases; number += stride) {
      ChoiceCase all = case_of(tokens, top_k, number);
      for (nn::DropOrder drop :
           {nn::DropOrder::choice, nn::DropOrder::position, nn::DropOrder::probability})
        check_decision(ranking, moe_of(top_k, drop, number % 2 == 0 ? 0.5 : 1.0), all, numbers.own);
    }
    number -= cases;
  }
}

SIMMESH_TEST(TokenRanking, DecidesAsOneDeviceForAllChoicesOfOneExpert,
             {.mesh = {2}, .schedules = 3}) {
  check_every_way(4, 1, 1, mesh);
}

SIMMESH_TEST(TokenRanking, DecidesAsOneDeviceForAllChoicesOfTwoExperts,
             {.mesh = {2}, .schedules = 3}) {
  check_every_way(3, 2, 1, mesh);
}

SIMMESH_TEST(TokenRanking, DecidesAsOneDeviceOnThreeRanks, {.mesh = {3}, .schedules = 3}) {
  check_every_way(4, 2, 101, mesh);
}

// Ranks may have their tokens in any order, as pieces of a sequence come.
SIMMESH_TEST(TokenRanking, TokensMayComeInAnyOrder, {.mesh = {2}, .schedules = 3}) {
  ProcessGroup group = process_group(mesh);
  Numbers own = group.rank() == 0 ? Numbers{5, 0, 1} : Numbers{3, 2, 4};
  TokenRanking ranking({own, 6}, sum_over(group));
  for (std::int64_t number = 0; number < 46656; number += 977)
    for (nn::DropOrder drop :
         {nn::DropOrder::choice, nn::DropOrder::position, nn::DropOrder::probability})
      check_decision(ranking, moe_of(2, drop, 0.5), case_of(6, 2, number), own);
}

// Without a limit nothing is dropped, and loads are still those of all ranks.
SIMMESH_TEST(TokenRanking, WithoutALimitAllTokensStay, {.mesh = {2}, .schedules = 3}) {
  ProcessGroup group = process_group(mesh);
  Numbers own = group.rank() == 0 ? Numbers{0, 1, 2} : Numbers{};
  TokenRanking ranking({own, 3}, sum_over(group));
  check_decision(ranking, moe_of(2, nn::DropOrder::none, 0.1), case_of(3, 2, 17), own);
  check_decision(ranking, moe_of(2, nn::DropOrder::choice, 0), case_of(3, 2, 17), own);
}

SIMMESH_TEST(TokenRanking, NeedsEachTokenOnOneRank, {.mesh = {2}, .schedules = 2}) {
  ProcessGroup group = process_group(mesh);
  Numbers both{0, 1}, first = group.rank() == 0 ? Numbers{0} : Numbers{};
  expect_error(
      [&] {
        TokenRanking({both, 2}, sum_over(group));
      },
      ErrorKind::value_error, "expected");
  expect_error(
      [&] {
        TokenRanking({first, 2}, sum_over(group));
      },
      ErrorKind::value_error, "got token 1 on none");
}

TEST(TokenRanking, NumbersTokensAlongACut) {
  EXPECT_EQ(numbers_along(0, {2, 3, 8}, {1, 2}, 1).own, (Numbers{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(numbers_along(1, {2, 1, 8}, {2, 1}, 1).own, (Numbers{2, 5}));
  EXPECT_EQ(numbers_along(1, {2, 1, 8}, {2, 1}, 1).count, 6);
  EXPECT_TRUE(numbers_along(0, {0, 3, 8}, {2, 0}, 1).own.empty());
}

}  // namespace
}  // namespace simmesh
