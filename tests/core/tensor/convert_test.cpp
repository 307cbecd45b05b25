#include <gtest/gtest.h>

#include <simmesh/core/tensor/convert.h>

namespace simmesh {
namespace {

TEST(Convert, RoundsOnceToNearestEven) {
  // 1 + 2^-11 + 2^-40 lies above the tie between 1 and 1 + 2^-10: by way of float32 it would be 1.
  Tensor x = tensor_of<double>({2}, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11});
  auto halves = converted(x, DType::float16);
  EXPECT_EQ(float(halves.values<Half>()[0]), 1 + 0x1p-10f);
  EXPECT_EQ(float(halves.values<Half>()[1]), 1.0f);
  // 2^54 + 2^46 + 1 in bfloat16: the last one decides the tie.
  std::int64_t tie = (std::int64_t(1) << 54) + (std::int64_t(1) << 46);
  Tensor big = converted(tensor_of<std::int64_t>({2}, {tie, tie + 1}), DType::bfloat16);
  EXPECT_EQ(float(big.values<BFloat16>()[0]), 0x1p54f);
  EXPECT_EQ(float(big.values<BFloat16>()[1]), 0x1p54f + 0x1p47f);
}

TEST(Convert, CutsTowardsZeroToIntegersAndAsksForZeroToBool) {
  Tensor x = tensor_of<float>({4}, {-1.75f, 1.75f, 0.25f, -0.0f});
  Tensor integers = converted(x, DType::int32);
  EXPECT_TRUE(same_bits(integers, tensor_of<std::int32_t>({4}, {-1, 1, 0, 0})));
  Tensor truths = converted(x, DType::boolean);
  EXPECT_TRUE(same_bits(truths, tensor_of<bool>({4}, {true, true, true, false})));
  EXPECT_TRUE(same_bits(converted(tensor_of<std::int64_t>({1}, {259}), DType::uint8),
                        tensor_of<std::uint8_t>({1}, {3})));
}

TEST(Convert, ReadsStridesAndReturnsTheTensorItselfForItsOwnDtype) {
  Tensor x = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(same_bits(converted(x.transpose(0, 1), DType::float64),
                        tensor_of<double>({2, 2}, {1, 3, 2, 4})));
  EXPECT_EQ(converted(x, DType::float32).storage(), x.storage());
}

}  // namespace
}  // namespace simmesh
