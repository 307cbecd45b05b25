#include "core/nn/moe_routing.h"

#include <gmock/gmock.h>

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

// If this fails, a token on another rank isn't counted before one of this rank, and an expert takes
// more tokens than its capacity, or others than on one device.
TEST(MoeRouting, PartsOfTheTokensAreRankedTogether) {
  Tensor first = tensor_of<std::int64_t>({1, 2}, {0, 1});
  Tensor rest = tensor_of<std::int64_t>({2, 2}, {1, 0, 0, 1});
  std::vector<std::vector<std::int64_t>> counts = {choice_counts(first, 3), choice_counts(rest, 3)};
  EXPECT_THAT(counts[1], ElementsAre(1, 1, 0, 1, 1, 0));
  EXPECT_THAT(rows_ahead(counts, 0, 3), ElementsAre(0, 0, 0, 2, 1, 0));
  EXPECT_THAT(rows_ahead(counts, 1, 3), ElementsAre(1, 0, 0, 2, 2, 0));
  for (std::int64_t capacity = 1; capacity <= 4; ++capacity) {
    std::vector<ExpertTokens> whole = assign_tokens(chosen(), {.experts = 3, .capacity = capacity});
    for (std::size_t expert = 0; expert < 3; ++expert) {
      std::vector<std::int64_t> slots;
      for (std::size_t part : {0U, 1U}) {
        ExpertLimits limits{3, capacity, rows_ahead(counts, part, 3)};
        std::vector<ExpertTokens> own = assign_tokens(part == 0 ? first : rest, limits);
        for (std::int64_t slot : own[expert].slots)
          slots.push_back(slot + (part == 0 ? 0 : 2));
      }
      std::vector<std::int64_t> wanted = whole[expert].slots;
      EXPECT_THAT(slots, ::testing::UnorderedElementsAreArray(wanted)) << capacity << expert;
    }
  }
}

TEST(MoeRouting, MakesIndices) {
  EXPECT_TRUE(same_bits(index_tensor({3, 1}), tensor_of<std::int64_t>({2}, {3, 1})));
  EXPECT_EQ(index_tensor({}).size(0), 0);
}

}  // namespace
}  // namespace simmesh::nn
