#include "core/ops/kept_operand.h"

#include <gtest/gtest.h>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/unrounded.h"

namespace simmesh {
namespace {

Tensor numbers() { return tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }

// Returns ones whose unrounded sums are 1 + rest.
Tensor ones_and(double rest) {
  Tensor result = full({4}, DType::float32, 1), rests = full({4}, DType::float32, rest);
  CarriedSums parts[] = {carried_terms(result.data(), DType::float32, 4),
                         carried_terms(rests.data(), DType::float32, 4)};
  keep_unrounded(result, sum_of(parts));
  return result;
}

TEST(KeptOperand, HasTheBitsOfItsTensorAndOfACopy) {
  Tensor x = numbers();
  KeptOperand kept(x);
  EXPECT_TRUE(kept.has_bits_of(x));
  EXPECT_TRUE(kept.has_bits_of(x.clone()));
  EXPECT_TRUE(kept.has_bits_of(numbers()));
  EXPECT_EQ(kept.span(), 24u);
}

// If this fails, a result of other operands is taken.
TEST(KeptOperand, DiffersByEachPartOfATensor) {
  Tensor x = numbers();
  KeptOperand kept(x);
  EXPECT_FALSE(kept.has_bits_of(tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6}))) << "shape";
  Tensor strided = tensor_of<float>({3, 2}, {1, 4, 2, 5, 3, 6}).transpose(0, 1);
  EXPECT_FALSE(kept.has_bits_of(strided)) << "strides";
  EXPECT_FALSE(kept.has_bits_of(tensor_of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}))) << "dtype";
  EXPECT_FALSE(kept.has_bits_of(tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 7}))) << "elements";
  EXPECT_FALSE(kept.has_bits_of(Tensor())) << "an undefined tensor";
  Tensor zero = full({1}, DType::float32, 0.0);
  EXPECT_FALSE(KeptOperand(zero).has_bits_of(full({1}, DType::float32, -0.0))) << "a sign";
  x.mutable_values<float>()[0] = 9;
  EXPECT_FALSE(kept.has_bits_of(x)) << "a later write";
  EXPECT_TRUE(kept.has_bits_of(numbers()));
}

// Sums that round to the same elements are other operands of an addition.
TEST(KeptOperand, HasTheUnroundedSums) {
  Tensor x = ones_and(0x1p-40);
  KeptOperand kept(x), plain(rounded(x));
  EXPECT_TRUE(kept.has_bits_of(x.clone()));
  EXPECT_TRUE(kept.has_bits_of(ones_and(0x1p-40))) << "equal sums that were made apart";
  EXPECT_FALSE(kept.has_bits_of(ones_and(0x1p-41)));
  EXPECT_FALSE(kept.has_bits_of(rounded(x)));
  EXPECT_FALSE(plain.has_bits_of(x));
}

TEST(KeptOperand, OfAnUndefinedTensorIsAnother) {
  KeptOperand kept{Tensor()};
  EXPECT_TRUE(kept.has_bits_of(Tensor()));
  EXPECT_FALSE(kept.has_bits_of(numbers()));
}

TEST(KeptOperand, SpansNothingWithoutElements) {
  EXPECT_EQ(KeptOperand(full({3, 0}, DType::float32, 1)).span(), 0u);
  EXPECT_EQ(KeptOperand(numbers().transpose(0, 1)).span(), 24u);
}

}  // namespace
}  // namespace simmesh
