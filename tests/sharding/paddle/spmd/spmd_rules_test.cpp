#include "sharding/paddle/spmd/spmd_rules.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// An op in no family would be missing without a word.
TEST(SpmdRules, KnowOpsOfEachFamily) {
  std::vector<std::string_view> ops = spmd_ops();
  EXPECT_TRUE(std::is_sorted(ops.begin(), ops.end()));
  for (std::string_view op :
       {"abs", "batch_norm", "concat", "conv2d", "cross_entropy_with_softmax", "default_",
        "flash_attention", "gather", "matmul", "reduce_sum", "reshape", "scatter", "softmax"})
    EXPECT_TRUE(std::binary_search(ops.begin(), ops.end(), op)) << op;
}

TEST(SpmdRules, RefuseWhatCanNotBe) {
  EXPECT_EQ(asked({"no_op", {2}, {}, {}}),
            "KeyError: expected an op with a sharding rule, got 'no_op'");
  EXPECT_EQ(asked({"abs", {2}, {tensor({4, 4}, {{0}, {0}})}, {}}),
            "ValueError: expected each mesh dim once, got [[0],[0]]");
  EXPECT_EQ(asked({"abs", {2}, {tensor({4}, {{1}})}, {}}),
            "ValueError: expected mesh dims below 1, got [[1]]");
}

}  // namespace
}  // namespace simmesh::paddle
