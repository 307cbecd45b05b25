#include "verify/pytorch/ops/aten_operator.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using ::testing::ElementsAre;

TEST(AtenOperator, IsSpelledWithAnOverload) {
  EXPECT_TRUE(is_aten_operator("aten.add.Tensor"));
  EXPECT_TRUE(is_aten_operator("aten._to_copy.default"));
  for (const char* text : {"add", "aten.add", "aten.add.", "aten..Tensor", "aten.add.Tensox",
                           "aten.a b.Tensor", "aten.add.Tensor.out", "prims.add.Tensor"})
    EXPECT_FALSE(is_aten_operator(text)) << text;
}

// A name that is no operator of the function would otherwise be a free text in a case.
TEST(AtenOperator, IsOneThatTheFunctionCanBe) {
  EXPECT_TRUE(can_be_operator("torch.abs", "aten.abs.default", ""));
  EXPECT_TRUE(can_be_operator("Tensor.add_", "aten.add_.Tensor", ""));
  EXPECT_TRUE(can_be_operator("torch.softmax", "aten._softmax.default", ""));
  EXPECT_TRUE(can_be_operator("torch.linalg.vector_norm", "aten.linalg_vector_norm.default", ""));
  EXPECT_TRUE(can_be_operator("torch.flatten", "aten.view.default", ""));
  EXPECT_TRUE(can_be_operator("recorder.fused_adam", "aten._fused_adam_.default", ""));
  EXPECT_TRUE(can_be_operator("torch.made_up", "aten.permute.default", "permute"));
  EXPECT_FALSE(can_be_operator("torch.abs", "aten.neg.default", "abs"));
  EXPECT_FALSE(can_be_operator("torch.abs", "aten.abs_.default", "abs"));
  EXPECT_FALSE(can_be_operator("Tensor.clip_", "aten.clamp.default", ""));
}

TEST(AtenOperator, IsTheCalledOneOfAnOperator) {
  EXPECT_TRUE(can_be_operator("torch.ops.aten.add.Tensor", "aten.add.Tensor", "add"));
  EXPECT_FALSE(can_be_operator("torch.ops.aten.add.Tensor", "aten.add.Scalar", "add"));
}

// Placements of an embedding that were priced against the other input would look dear.
TEST(AtenOperator, HasItsOwnOrderOfTensors) {
  EXPECT_THAT(operator_order("torch.nn.functional.embedding", 2), ElementsAre(1, 0));
  EXPECT_THAT(operator_order("torch.nn.functional.batch_norm", 5), ElementsAre(0, 3, 4, 1, 2));
  EXPECT_THAT(operator_order("torch.add", 2), ElementsAre(0, 1));
}

}  // namespace
}  // namespace simmesh
