#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// Batch and heads stay cut, lengths do not; values have the layout of keys.
TEST(PaddleAttention, FlashAttentionCutsBatchAndHeads) {
  SpmdTensor q = tensor({4, 8, 4, 16}, {{0}, {1}, {}, {}});
  SpmdTensor k = tensor({4, 8, 4, 16}, {{}, {}, {1}, {}});
  SpmdTensor v = tensor({4, 8, 4, 16}, {{}, {0}, {}, {}});
  SpmdTensor seed = tensor({1}, {{}}), mask = tensor({1, 1, 8, 8}, {{}, {}, {0}, {}});
  EXPECT_EQ(asked({"flash_attention", {2, 2}, {q, k, v, seed, mask}, {0.0, true}}),
            "[[0],[],[1],[]] | [[0],[],[1],[]] | [[0],[],[1],[]] | [[]] | [[0],[],[],[]] -> "
            "[[0],[],[1],[]] | [[0],[1],[],[]] | [[0],[1],[]] | [[]]");
}

// Where positions are given, the length is whole; without them the tables are cut with it.
TEST(PaddleAttention, RotaryEmbeddingCutsLengthWithoutPositions) {
  SpmdTensor q = tensor({4, 8, 4, 16}, {{}, {0}, {}, {1}}),
             table = tensor({1, 8, 1, 16}, {{}, {}, {}, {1}});
  SpmdTensor none = tensor({0}, {{}}), positions = tensor({4, 8}, {{1}, {0}});
  std::vector<SpmdAttribute> attributes{true, false, 10000.0};
  EXPECT_EQ(asked({"fused_rotary_position_embedding",
                   {2, 2},
                   {q, none, none, table, table, none},
                   attributes}),
            "[[],[0],[],[]] | [[]] | [[]] | [[],[0],[],[]] | [[],[0],[],[]] | [[]] -> "
            "[[],[0],[],[]] | [[]] | [[]]");
  EXPECT_EQ(asked({"fused_rotary_position_embedding",
                   {2, 2},
                   {q, none, none, table, table, positions},
                   attributes}),
            "[[],[],[],[]] | [[]] | [[]] | [[],[],[],[]] | [[],[],[],[]] | [[],[]] -> "
            "[[],[],[],[]] | [[]] | [[]]");
}

}  // namespace
}  // namespace simmesh::paddle
