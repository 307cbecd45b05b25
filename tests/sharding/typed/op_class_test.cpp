#include "sharding/typed/op_class.h"

#include <gtest/gtest.h>

namespace simmesh::typed {
namespace {

// If this fails, partial operands pass where the operation isn't linear.
TEST(OpClasses, AreThoseOfTheOperation) {
  EXPECT_EQ(op_class("cumsum"), OpClass::linear);
  EXPECT_EQ(op_class("matmul"), OpClass::multilinear);
  EXPECT_EQ(op_class("scalar_div"), OpClass::divided);
  EXPECT_EQ(op_class("addmm"), OpClass::composed);
  EXPECT_EQ(op_class("new_zeros"), OpClass::factory);
  EXPECT_EQ(op_class("randperm"), OpClass::untyped_factory);
  for (const char* op : {"relu", "linear", "pad", "tensordot", "no_such_op"})
    EXPECT_EQ(op_class(op), OpClass::other) << op;
}

// If this fails, an operation in place passes other operands than the one that returns a tensor.
TEST(OpClasses, AreTheSameForOperationsThatWrite) {
  EXPECT_EQ(op_class("unsqueeze_"), OpClass::linear);
  EXPECT_EQ(op_class("matmul_out"), OpClass::multilinear);
  EXPECT_EQ(op_class("div_"), OpClass::divided);
  EXPECT_EQ(op_class("relu_"), OpClass::other);
}

TEST(OpClasses, KnowTheWrittenOperand) {
  EXPECT_EQ(written_operand("add_", 2), 0u);
  EXPECT_EQ(written_operand("mul_out", 3), 2u);
  EXPECT_TRUE(is_written_only("mul_out"));
  EXPECT_FALSE(written_operand("add", 2));
  EXPECT_FALSE(written_operand("add_", 0));
}

}  // namespace
}  // namespace simmesh::typed
