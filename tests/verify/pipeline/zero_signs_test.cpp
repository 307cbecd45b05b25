#include "verify/pipeline/zero_signs.h"

#include <gtest/gtest.h>

#include "core/tensor/tensor.h"
#include "verify/case_bits.h"

namespace simmesh {
namespace {

// If this fails, a tensor passes for another one, or fails for the sign of a zero.
TEST(ZeroSigns, OnlyZerosMayHaveOtherSigns) {
  Tensor plus = tensor_of<float>({2, 3}, {0, 1, 0, -2, 0, 3});
  Tensor mixed = tensor_of<float>({2, 3}, {-0.0f, 1, 0, -2, -0.0f, 3});
  Tensor other = tensor_of<float>({2, 3}, {0, 1, 0, 2, 0, 3});
  EXPECT_TRUE(has_bits_but_zero_signs(plus, bits_text(plus)));
  EXPECT_TRUE(has_bits_but_zero_signs(plus, bits_text(mixed)));
  EXPECT_TRUE(has_bits_but_zero_signs(mixed, bits_text(plus)));
  EXPECT_FALSE(has_bits_but_zero_signs(plus, bits_text(other)));
  Tensor wide = tensor_of<double>({3}, {0, -0.0, 5});
  EXPECT_TRUE(has_bits_but_zero_signs(wide, bits_text(tensor_of<double>({3}, {-0.0, 0, 5}))));
  // More zeros than may have signs of their own.
  Tensor many = zeros({8, 6}, DType::float32), product = zeros({8, 6}, DType::float32);
  auto signs = product.mutable_values<float>();
  for (std::size_t i = 0; i < signs.size(); ++i)
    if ((i / 6 % 3 == 1) != (i % 6 == 2)) signs[i] = -0.0f;
  EXPECT_TRUE(has_bits_but_zero_signs(many, bits_text(product)));
  signs[0] = -0.0f;
  EXPECT_FALSE(has_bits_but_zero_signs(many, bits_text(product)));
  EXPECT_FALSE(has_bits_but_zero_signs(many, bits_text(wide)));
}

}  // namespace
}  // namespace simmesh
