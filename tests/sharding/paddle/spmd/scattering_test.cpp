#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// Updates that are cut along the rows leave the output partial.
TEST(PaddleScattering, CutUpdatesArePartial) {
  EXPECT_EQ(asked({"scatter",
                   {2, 2},
                   {tensor({8, 16}, {{1}, {}}), tensor({6}, {{0}}), tensor({6, 16}, {{}, {1}})},
                   {true}}),
            "[[],[1]] | [[0]] | [[0],[1]] -> [[],[1]] partial {0: sum}");
}

// The axis of x is whole; dims of other sizes are not cut.
TEST(PaddleScattering, TakeAlongAxisCutsTheIndex) {
  SpmdTensor x = tensor({4, 8}, {{}, {1}});
  EXPECT_EQ(asked({"take_along_axis", {2, 2}, {x, tensor({4, 8}, {{0}, {1}})}, {std::int64_t(1)}}),
            "[[0],[]] | [[0],[1]] -> [[0],[1]]");
  EXPECT_EQ(asked({"take_along_axis", {2, 2}, {x, tensor({2, 8}, {{0}, {}})}, {std::int64_t(-1)}}),
            "[[],[]] | [[],[]] -> [[],[]]");
}

}  // namespace
}  // namespace simmesh::paddle
