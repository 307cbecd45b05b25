#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// A cut of one operand cuts the other, of a broadcast dim it does not.
TEST(PaddleElementwise, BroadcastsMergeFromTheBack) {
  EXPECT_EQ(asked({"add", {2, 2}, {tensor({4, 8, 16}, {{0}, {}, {}}), tensor({16}, {{1}})}, {}}),
            "[[0],[],[1]] | [[1]] -> [[0],[],[1]]");
  EXPECT_EQ(asked({"add", {2, 2}, {tensor({4, 1}, {{}, {1}}), tensor({4, 8}, {{0}, {}})}, {}}),
            "[[0],[]] | [[0],[]] -> [[0],[]]");
}

TEST(PaddleElementwise, RefusesTwoMeshDimsOnOneAxis) {
  EXPECT_EQ(asked({"add", {2, 2}, {tensor({4}, {{0}}), tensor({4}, {{1}})}, {}}),
            "NotImplementedError: add: (Unimplemented) Tensor Axis[a] is Sharded by two different "
            "mesh dimension [1] and [0].");
}

// Sums pass through a product with a whole factor, and through a sum of sums.
TEST(PaddleElementwise, KeepsPartialWhereItIsLinear) {
  SpmdTensor partial = tensor({4, 8}, {{}, {}}, {0}), whole = tensor({4, 8}, {{}, {}});
  SpmdTensor cut = tensor({4, 8}, {{0}, {}});
  EXPECT_EQ(asked({"multiply", {2}, {whole, partial}, {}}),
            "[[],[]] | [[],[]] partial {0: sum} -> [[],[]] partial {0: sum}");
  EXPECT_EQ(asked({"multiply", {2}, {partial, partial}, {}}),
            "[[],[]] partial {0: sum} | [[],[]] -> [[],[]] partial {0: sum}");
  EXPECT_EQ(asked({"multiply", {2}, {partial, cut}, {}}), "[[0],[]] | [[0],[]] -> [[0],[]]");
  EXPECT_EQ(asked({"add", {2}, {partial, partial}, {}}), "[[],[]] | [[],[]] -> [[],[]]");
  EXPECT_EQ(asked({"add_n", {2}, {std::vector<SpmdTensor>{partial, partial}}, {}}),
            "([[],[]] partial {0: sum}; [[],[]] partial {0: sum}) -> [[],[]] partial {0: sum}");
}

// Ops of one tensor keep co-shards, as far as they divide.
TEST(PaddleElementwise, UnaryKeepsEvenCoShards) {
  EXPECT_EQ(asked({"relu", {2, 2}, {tensor({6, 8}, {{}, {1, 0}})}, {}}),
            "[[],[1,0]] -> [[],[1,0]]");
  EXPECT_EQ(asked({"relu", {2, 2}, {tensor({6, 8}, {{1, 0}, {}})}, {}}), "[[1],[]] -> [[1],[]]");
}

// The layout of y is never read.
TEST(PaddleElementwise, WhereReadsTheLayoutOfXTwice) {
  SpmdTensor whole = tensor({4, 8}, {{}, {}});
  EXPECT_EQ(asked({"where", {2}, {whole, whole, tensor({4, 8}, {{0}, {}})}, {}}),
            "[[],[]] | [[],[]] | [[],[]] -> [[],[]]");
}

}  // namespace
}  // namespace simmesh::paddle
