#include "core/nn/moe_routing.h"

#include <gmock/gmock.h>
#include <limits>

#include "core/tensor/vector_of.h"
#include "tests/expect_error.h"

namespace simmesh::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Three tokens that chose two of three experts each.
Tensor chosen() { return tensor_of<std::int64_t>({3, 2}, {0, 1, 1, 0, 0, 1}); }

// First choices come before second ones, and among equal ones the tokens in order.
TEST(MoeRouting, OrdersTokensByChoice) {
  std::vector<ExpertTokens> experts = assign_tokens(chosen(), {.experts = 3});
  EXPECT_THAT(experts[0].tokens, ElementsAre(0, 2, 1));
  EXPECT_THAT(experts[0].slots, ElementsAre(0, 4, 3));
  EXPECT_THAT(experts[1].tokens, ElementsAre(1, 0, 2));
  EXPECT_THAT(experts[2].tokens, IsEmpty());
}

TEST(MoeRouting, LeavesOutTokensBeyondTheCapacity) {
  std::vector<ExpertTokens> experts = assign_tokens(chosen(), {.experts = 3, .capacity = 2});
  EXPECT_THAT(experts[0].tokens, ElementsAre(0, 2));
  EXPECT_THAT(experts[1].slots, ElementsAre(2, 1));
}

// Three tokens want expert 0, the second one as its first choice. Each order fills it differently.
TEST(MoeRouting, FillsACapacityInOrder) {
  Tensor wanted = tensor_of<std::int64_t>({3, 2}, {1, 0, 0, 1, 1, 0});
  Tensor scores = tensor_of<float>({3, 2}, {0.6f, 0.4f, 0.5f, 0.5f, 0.51f, 0.49f});
  auto taken = [&](DropOrder order, std::int64_t capacity) {
    return assign_tokens(wanted, {.experts = 2, .capacity = capacity, .order = order}, scores)[0]
        .tokens;
  };
  EXPECT_THAT(taken(DropOrder::choice, 1), ElementsAre(1));
  EXPECT_THAT(taken(DropOrder::choice, 2), ElementsAre(1, 0));
  EXPECT_THAT(taken(DropOrder::position, 1), ElementsAre(0));
  EXPECT_THAT(taken(DropOrder::position, 2), ElementsAre(1, 0));
  EXPECT_THAT(taken(DropOrder::probability, 1), ElementsAre(1));
  EXPECT_THAT(taken(DropOrder::probability, 2), ElementsAre(1, 2));
  EXPECT_THAT(taken(DropOrder::none, 1), ElementsAre(1, 0, 2));
}

// Among equal scores the first token wins; a NaN comes before all numbers.
TEST(MoeRouting, BreaksTiesByPosition) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor wanted = tensor_of<std::int64_t>({4, 1}, {0, 0, 0, 0});
  Tensor scores = tensor_of<float>({4, 1}, {0.5f, 0.5f, nan, 0.5f});
  ExpertLimits limits{.experts = 1, .capacity = 2, .order = DropOrder::probability};
  EXPECT_THAT(assign_tokens(wanted, limits, scores)[0].tokens, ElementsAre(0, 2));
}

TEST(MoeRouting, CountsLoadsBeforeTokensAreDropped) {
  EXPECT_THAT(loads_of(chosen(), 3), ElementsAre(3, 3, 0));
}

// If this fails, a choice that comes damaged from another rank writes outside of the counts.
TEST(MoeRouting, RefusesExpertsOutOfRange) {
  for (std::int64_t expert : {std::int64_t(-1), std::int64_t(3), std::int64_t(1) << 40}) {
    Tensor damaged = tensor_of<std::int64_t>({2, 1}, {0, expert});
    testing::expect_error([&] { loads_of(damaged, 3); }, ErrorKind::index_error, "below 3");
    testing::expect_error([&] { assign_tokens(damaged, {.experts = 3, .capacity = 1}); },
                          ErrorKind::index_error, "expected an expert below 3");
  }
}

TEST(MoeRouting, MakesIndices) {
  EXPECT_TRUE(same_bits(vector_of<std::int64_t>({3, 1}), tensor_of<std::int64_t>({2}, {3, 1})));
  EXPECT_EQ(empty({0}, DType::int64).size(0), 0);
}

}  // namespace
}  // namespace simmesh::nn
