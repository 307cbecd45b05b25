#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// Only the batch is cut, for inputs and outputs alike.
TEST(PaddleDataParallel, CutsTheBatch) {
  std::vector<SpmdTensor> inputs{tensor({4, 8}, {{1}, {0}}), tensor({8}, {{}})};
  std::vector<SpmdTensor> outputs{tensor({4, 8}, {{}, {}})};
  EXPECT_EQ(asked({"default_", {2, 2}, {inputs, outputs}, {}}), "[[1],[]] | [[1]] -> [[1],[]]");
  EXPECT_EQ(asked({"replicated", {2, 2}, {inputs, outputs}, {}}), "[[],[]] | [[]] -> [[],[]]");
}

}  // namespace
}  // namespace simmesh::paddle
