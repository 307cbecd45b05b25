#include "collectives/results/result_part.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// The tensor of a part shares its bytes until somebody writes.
TEST(ResultPart, BecomesATensorOfARangeOfTheBuffer) {
  Tensor whole = full({6}, DType::int32, 4);
  whole.mutable_values<std::int32_t>()[2] = 7;
  ResultPart part{whole.storage()->buffer(), 2 * sizeof(std::int32_t), {2, 1}, DType::int32};
  Tensor tensor = part.to_tensor();
  EXPECT_EQ(tensor.shape(), (Shape{2, 1}));
  EXPECT_EQ(tensor.values<std::int32_t>()[0], 7);
  EXPECT_EQ(tensor.values<std::int32_t>()[1], 4);
  tensor.mutable_values<std::int32_t>()[0] = 9;
  EXPECT_EQ(whole.values<std::int32_t>()[2], 7);
}

TEST(ResultPart, AnOperandIsDescribedByDtypeAndShape) {
  EXPECT_EQ(describe_operand(DType::bfloat16, Shape{4, 2}), "bfloat16[4, 2]");
}

}  // namespace
}  // namespace simmesh
