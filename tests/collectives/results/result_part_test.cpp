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

// A part of a cut operand would have elements of other rows.
TEST(ResultPart, OfATensorHasItsElements) {
  Tensor whole = full({3, 2}, DType::int32, 4);
  whole.mutable_values<std::int32_t>()[3] = 7;
  for (const Tensor& tensor :
       {whole.narrow({.dim = 0, .start = 1, .length = 2}),
        whole.narrow({.dim = 1, .start = 1, .length = 1}), empty({0, 2}, DType::int32)}) {
    ResultPart part = ResultPart::of(tensor);
    EXPECT_TRUE(same_bits(part.to_tensor(), tensor.contiguous()));
    EXPECT_EQ(part.hash, ResultPart::of(tensor.clone()).hash);
  }
  Shape sizes = {3, 2};
  Tensor shapes_only(Storage::make_unbacked(24, true), DType::int32, DimSpan(sizes));
  ResultPart shape = ResultPart::of(shapes_only);
  EXPECT_EQ(shape.shape, sizes);
  EXPECT_FALSE(shape.buffer);
}

TEST(ResultPart, AnOperandIsDescribedByDtypeAndShape) {
  EXPECT_EQ(describe_operand(DType::bfloat16, Shape{4, 2}), "bfloat16[4, 2]");
}

}  // namespace
}  // namespace simmesh
