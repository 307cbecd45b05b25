#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// The dims that are normalised are whole, weights too; statistics have the layout of the dims that
// stay.
TEST(PaddleNormalization, NormalizedDimsAreWhole) {
  SpmdTensor x = tensor({4, 8, 16}, {{0}, {}, {1}}), weight = tensor({16}, {{1}});
  EXPECT_EQ(asked({"layer_norm", {2, 2}, {x, weight, weight}, {1e-5, std::int64_t(2)}}),
            "[[0],[],[]] | [[]] | [[]] -> [[0],[],[]] | [[0],[]] | [[0],[]]");
  EXPECT_EQ(asked({"fused_rms_norm", {2, 2}, {x, weight}, {1e-5}}),
            "[[0],[],[]] | [[]] -> [[0],[],[]] | [[0],[]]");
}

TEST(PaddleNormalization, SamplesKeepBatchOrChannels) {
  SpmdTensor x = tensor({4, 8, 6, 6}, {{0}, {1}, {}, {}}), weight = tensor({8}, {{0}});
  EXPECT_EQ(asked({"group_norm", {2, 2}, {x, weight, weight}, {1e-5, std::int64_t(4), "NCHW"}}),
            "[[0],[],[],[]] | [[]] | [[]] -> [[0],[],[],[]] | [[0],[]] | [[0],[]]");
  EXPECT_EQ(asked({"instance_norm", {2, 2}, {x, weight, weight}, {1e-5}}),
            "[[0],[1],[],[]] | [[]] | [[]] -> [[0],[1],[],[]] | [[0],[1]] | [[0],[1]]");
  EXPECT_EQ(asked({"batch_norm", {2, 2}, {x, weight, weight, weight, weight}, {}}),
            "[[],[1],[],[]] | [[1]] | [[1]] | [[]] | [[]] -> "
            "[[],[1],[],[]] | [[1]] | [[1]] | [[1]] | [[1]] | [[]]");
}

}  // namespace
}  // namespace simmesh::paddle
