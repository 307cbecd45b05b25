#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// The axis of a concat is whole; what all agree on stays, the rest is chosen by cost.
TEST(PaddleJoining, ConcatCutsOtherDims) {
  std::vector<SpmdTensor> same{tensor({4, 8}, {{}, {0}}), tensor({4, 8}, {{}, {0}})};
  EXPECT_EQ(asked({"concat", {2}, {same}, {std::int64_t(0)}}), "([[],[0]]; [[],[0]]) -> [[],[0]]");
  EXPECT_EQ(asked({"concat", {2}, {same}, {std::int64_t(1)}}), "([[],[]]; [[],[]]) -> [[],[]]");
  std::vector<SpmdTensor> mixed{tensor({4, 8}, {{0}, {}}), tensor({4, 8}, {{}, {}})};
  EXPECT_EQ(asked({"concat", {2}, {mixed}, {std::int64_t(0)}}), "([[],[0]]; [[],[0]]) -> [[],[0]]");
}

TEST(PaddleJoining, StackMakesRoomForTheNewDim) {
  std::vector<SpmdTensor> same{tensor({4, 8}, {{0}, {}}), tensor({4, 8}, {{0}, {}})};
  EXPECT_EQ(asked({"stack", {2}, {same}, {std::int64_t(0)}}),
            "([[0],[]]; [[0],[]]) -> [[],[0],[]]");
  EXPECT_EQ(asked({"stack", {2}, {same}, {std::int64_t(-1)}}),
            "([[0],[]]; [[0],[]]) -> [[0],[],[]]");
}

}  // namespace
}  // namespace simmesh::paddle
