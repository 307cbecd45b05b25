#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// A cut of a reduced dim leaves the result partial; Paddle calls it a sum whatever the op is.
TEST(PaddleReduction, CutsBecomePartial) {
  SpmdTensor x = tensor({4, 8, 16}, {{0}, {1}, {}});
  std::vector<std::int64_t> dim{1};
  EXPECT_EQ(asked({"reduce_sum", {2, 2}, {x}, {dim, false}}),
            "[[0],[1],[]] -> [[0],[]] partial {1: sum}");
  EXPECT_EQ(asked({"max", {2, 2}, {x}, {dim, true}}),
            "[[0],[1],[]] -> [[0],[],[]] partial {1: sum}");
  EXPECT_EQ(asked({"mean_all", {2, 2}, {x}, {}}), "[[0],[1],[]] -> [] partial {0: avg, 1: avg}");
  EXPECT_EQ(asked({"p_norm", {2, 2}, {x}, {2.0, std::int64_t(-2), 1e-12, false, false}}),
            "[[0],[1],[]] -> [[0],[]] partial {1: sum}");
}

// The largest mesh dim of a co-shard is used.
TEST(PaddleReduction, CoShardsFallBack) {
  EXPECT_EQ(asked({"reduce_sum",
                   {2, 4},
                   {tensor({8, 16}, {{0, 1}, {}})},
                   {std::vector<std::int64_t>{1}, false}}),
            "[[1],[]] -> [[1]]");
}

}  // namespace
}  // namespace simmesh::paddle
