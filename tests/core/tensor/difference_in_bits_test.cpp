#include <gtest/gtest.h>
#include <limits>

#include "core/tensor/tensor.h"

// Whoever reads a failed comparison must learn from it how much is wrong, and where.
namespace simmesh {
namespace {

TEST(DifferenceInBits, IsEmptyForEqualBits) {
  Tensor a = full({2, 3}, DType::bfloat16, 1.5);
  EXPECT_EQ(difference_in_bits(a, a.clone()), "");
  EXPECT_EQ(difference_in_bits(zeros({0}, DType::float32), zeros({0}, DType::float32)), "");
}

TEST(DifferenceInBits, NamesTypesThatDiffer) {
  EXPECT_EQ(difference_in_bits(zeros({2}, DType::float32), zeros({2}, DType::float64)),
            "expected float64[2], got float32[2]");
  EXPECT_EQ(difference_in_bits(zeros({2, 1}, DType::float32), zeros({2}, DType::float32)),
            "expected float32[2], got float32[2, 1]");
}

TEST(DifferenceInBits, CountsElementsAndIndexesTheFirstInAllDims) {
  Tensor expected = zeros({2, 1, 4}, DType::float32), actual = expected.clone();
  actual.mutable_values<float>()[7] = -2;
  actual.mutable_values<float>()[5] = 0.5;
  EXPECT_EQ(difference_in_bits(actual, expected),
            "2 of 8 elements of float32[2, 1, 4] differ, by at most 2; the first at [1, 0, 1]: "
            "expected 0, got 0.5");
  // In the order of the logical elements, whatever the strides.
  EXPECT_EQ(difference_in_bits(actual.transpose(0, 2), expected.transpose(0, 2)),
            "2 of 8 elements of float32[4, 1, 2] differ, by at most 2; the first at [1, 0, 1]: "
            "expected 0, got 0.5");
}

TEST(DifferenceInBits, OfIntegersIsExact) {
  auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(difference_in_bits(tensor_of<std::int64_t>({1}, {least}),
                               tensor_of<std::int64_t>({1}, {-(least + 1)})),
            "1 of 1 elements of int64[1] differ, by at most 18446744073709551615; the first at "
            "[0]: expected 9223372036854775807, got -9223372036854775808");
  EXPECT_EQ(difference_in_bits(tensor_of<bool>({}, {true}), tensor_of<bool>({}, {false})),
            "1 of 1 elements of bool[] differ, by at most 1; the first at []: expected false, got "
            "true");
}

TEST(DifferenceInBits, ShowsTheBitsOfValuesThatPrintAlike) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor expected = tensor_of<float>({2}, {nan, 1}), actual = expected.clone();
  reinterpret_cast<std::uint32_t*>(actual.mutable_data())[0] ^= 1;
  EXPECT_EQ(difference_in_bits(actual, expected),
            "1 of 2 elements of float32[2] differ, by at most nan; the first at [0]: expected nan "
            "(0x7fc00000), got nan (0x7fc00001)");
}

}  // namespace
}  // namespace simmesh
