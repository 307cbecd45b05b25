#include "sharding/placement/norm.h"

#include <gtest/gtest.h>
#include <limits>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// 3, 4 -> 5, and every other power that is a chain of squares.
TEST(Norm, RootsUndoPowers) {
  Tensor values = tensor_of<double>({3}, {0, 2, 3});
  EXPECT_TRUE(same_bits(norm_to_sum(values, 2), tensor_of<double>({3}, {0, 4, 9})));
  EXPECT_TRUE(same_bits(norm_to_sum(values, 4), tensor_of<double>({3}, {0, 16, 81})));
  EXPECT_TRUE(same_bits(norm_to_sum(values, 8), tensor_of<double>({3}, {0, 256, 6561})));
  for (double p : {0.0, 1.0, 2.0, 4.0, 8.0, infinity, -infinity})
    EXPECT_TRUE(same_bits(sum_to_norm(norm_to_sum(values, p), p), values)) << p;
}

// Maxima and counts are reduced unchanged.
TEST(Norm, LeavesCountsAndMaximaAlone) {
  Tensor values = tensor_of<float>({2}, {5, 7});
  for (double p : {0.0, 1.0, infinity, -infinity}) {
    EXPECT_TRUE(same_bits(norm_to_sum(values, p), values)) << p;
    EXPECT_TRUE(same_bits(sum_to_norm(values, p), values)) << p;
  }
}

// The operand may be shared with other ranks.
TEST(Norm, DoesNotChangeItsOperand) {
  Tensor values = tensor_of<float>({2}, {5, 7});
  norm_to_sum(values, 2);
  sum_to_norm(values, 2);
  EXPECT_TRUE(same_bits(values, tensor_of<float>({2}, {5, 7})));
}

// Other exponents are powers in double, rounded once; an element without magnitude stays out of the
// sum.
TEST(Norm, RaisesToAnyExponent) {
  Tensor values = tensor_of<double>({4}, {0, 1, 2, 4});
  EXPECT_TRUE(same_bits(norm_to_sum(values, 3), tensor_of<double>({4}, {0, 1, 8, 64})));
  // A third isn't a number of the dtype, so a cube root is right to an ulp or two.
  Tensor again = sum_to_norm(norm_to_sum(values, 3), 3);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(again.values<double>()[i], values.values<double>()[i], 1e-15 * 4);
  EXPECT_TRUE(same_bits(norm_to_sum(values, -1), tensor_of<double>({4}, {infinity, 1, 0.5, 0.25})));
  EXPECT_TRUE(same_bits(sum_to_norm(tensor_of<double>({2}, {infinity, 0.5}), -1),
                        tensor_of<double>({2}, {0, 2})));
  Tensor squares = tensor_of<double>({3}, {0, 1, 4});
  EXPECT_TRUE(same_bits(norm_to_sum(squares, 0.5), tensor_of<double>({3}, {0, 1, 2})));
  EXPECT_TRUE(same_bits(sum_to_norm(tensor_of<float>({1}, {3}), 0.5), tensor_of<float>({1}, {9})));
}

TEST(Norm, RefusesIntegers) {
  testing::expect_error([] { sum_to_norm(zeros({1}, DType::int32), 2); }, ErrorKind::type_error,
                        "expected a floating dtype, got int32");
  testing::expect_error([] { norm_to_sum(zeros({1}, DType::int32), 3); }, ErrorKind::type_error,
                        "expected a floating dtype, got int32");
}

}  // namespace
}  // namespace simmesh
