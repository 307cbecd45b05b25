#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// Classes may be cut where labels are indices, not where they are distributions.
TEST(PaddleLoss, ClassesMayBeCutWithHardLabels) {
  SpmdTensor logits = tensor({4, 16}, {{}, {0}});
  std::vector<SpmdAttribute> hard{false, true, true, std::int64_t(-100), std::int64_t(-1)};
  std::vector<SpmdAttribute> soft = hard;
  soft[0] = true;
  EXPECT_EQ(
      asked({"cross_entropy_with_softmax", {2, 2}, {logits, tensor({4, 1}, {{1}, {}})}, hard}),
      "[[1],[0]] | [[1],[]] -> [[1],[0]] | [[1],[]]");
  EXPECT_NE(asked({"cross_entropy_with_softmax", {2, 2}, {logits, tensor({4, 16}, {{}, {}})}, soft})
                .find("soft_label is set as True"),
            std::string::npos);
  EXPECT_EQ(
      asked({"c_softmax_with_cross_entropy", {2, 2}, {logits, tensor({4, 1}, {{1}, {}})}, {}}),
      "[[1],[0]] | [[1],[]] -> [[1],[0]] | [[1],[]]");
}

}  // namespace
}  // namespace simmesh::paddle
