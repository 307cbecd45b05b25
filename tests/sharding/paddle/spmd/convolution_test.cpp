#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// Channels that are cut alike leave the output partial; others are refused.
TEST(PaddleConvolution, ChannelsMustAgree) {
  SpmdTensor image = tensor({4, 8, 6, 6}, {{0}, {1}, {}, {}});
  EXPECT_EQ(asked({"conv2d", {2, 2, 2}, {image, tensor({8, 8, 3, 3}, {{2}, {1}, {}, {}})}, {}}),
            "[[0],[1],[],[]] | [[2],[1],[],[]] -> [[0],[2],[],[]] partial {1: sum}");
  EXPECT_NE(asked({"conv2d", {2, 2, 2}, {image, tensor({8, 8, 3, 3}, {{}, {}, {}, {}})}, {}})
                .find("must be equal to filter channel"),
            std::string::npos);
}

}  // namespace
}  // namespace simmesh::paddle
