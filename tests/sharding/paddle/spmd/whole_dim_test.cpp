#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// Each op gathers the dim that it runs along, and keeps the other cuts.
TEST(PaddleWholeDim, TheAxisIsWhole) {
  SpmdTensor x = tensor({4, 8, 16}, {{0}, {1}, {}});
  std::int64_t second = 1;
  EXPECT_EQ(asked({"softmax", {2, 2}, {x}, {second}}), "[[0],[],[]] -> [[0],[],[]]");
  EXPECT_EQ(asked({"argmax", {2, 2}, {x}, {second, false, false, second}}),
            "[[0],[],[]] -> [[0],[]]");
  EXPECT_EQ(asked({"argmax", {2, 2}, {x}, {second, false, true, second}}), "[[],[],[]] -> [[]]");
  EXPECT_EQ(asked({"cumsum", {2, 2}, {x}, {second, false, false, false}}),
            "[[0],[],[]] -> [[0],[],[]]");
  EXPECT_EQ(asked({"topk", {2, 2}, {x}, {std::int64_t(2), second, true, true}}),
            "[[0],[],[]] -> [[0],[],[]] | [[0],[],[]]");
  EXPECT_EQ(asked({"split_with_num", {2, 2}, {x}, {std::int64_t(2), second}}),
            "[[0],[],[]] -> [[0],[],[]] | [[0],[],[]]");
  EXPECT_EQ(asked({"slice", {2, 2}, {x}, {std::vector<std::int64_t>{1}}}),
            "[[0],[],[]] -> [[0],[],[]]");
  EXPECT_EQ(
      asked({"roll", {2, 2}, {x}, {std::vector<std::int64_t>{3}, std::vector<std::int64_t>{}}}),
      "[[],[],[]] -> [[],[],[]]");
  EXPECT_EQ(asked({"triu", {2, 2}, {x}, {std::int64_t(0)}}), "[[0],[],[]] -> [[0],[],[]]");
  EXPECT_EQ(asked({"nonzero", {2}, {tensor({4, 8}, {{0}, {}})}, {}}), "[[],[]] -> [[],[]]");
}

// A partial tensor stays partial before unbind, but not after it.
TEST(PaddleWholeDim, UnbindTakesPartialTensors) {
  EXPECT_EQ(asked({"unbind", {2, 2}, {tensor({2, 8}, {{}, {1}}, {0})}, {std::int64_t(0)}}),
            "[[],[1]] partial {0: sum} -> [[1]] | [[1]]");
}

// Co-shards pass softmax unchanged; after it only cuts that divide remain.
TEST(PaddleWholeDim, SoftmaxKeepsCoShards) {
  EXPECT_EQ(asked({"softmax", {2, 2}, {tensor({6, 8}, {{0, 1}, {}})}, {std::int64_t(1)}}),
            "[[0,1],[]] -> [[0],[]]");
  EXPECT_EQ(
      asked({"argsort", {2, 2}, {tensor({6, 8}, {{0, 1}, {}})}, {std::int64_t(1), false, false}}),
      "[[0,1],[]] -> [[0,1],[]] | [[0,1],[]]");
}

}  // namespace
}  // namespace simmesh::paddle
