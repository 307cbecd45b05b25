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

TEST(MoeRouting, MakesIndices) {
  EXPECT_TRUE(same_bits(index_tensor({3, 1}), tensor_of<std::int64_t>({2}, {3, 1})));
  EXPECT_EQ(index_tensor({}).size(0), 0);
}

}  // namespace
}  // namespace simmesh::nn
