#include "core/ops/elementwise/complex.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {
namespace {

TEST(Complex, MultipliesPairsAndBroadcasts) {
  Tensor a = tensor_of<float>({2, 2}, {1, 2, 0, 1}), b = tensor_of<float>({2}, {3, 4});
  EXPECT_EQ(to_string(complex_mul(a, b)), "float32[2, 2] {-5, 10, -4, 3}");
  EXPECT_EQ(to_string(complex_conj(a)), "float32[2, 2] {1, -2, 0, -1}");
  EXPECT_EQ(to_string(complex_mul(to(a, DType::bfloat16), to(b, DType::bfloat16))),
            "bfloat16[2, 2] {-5, 10, -4, 3}");
  EXPECT_THROW(complex_mul(a, tensor_of<float>({3}, {1, 2, 3})), Error);
  EXPECT_THROW(complex_conj(tensor_of<std::int64_t>({2}, {1, 2})), Error);
}

TEST(Complex, MagnitudesDontOverflow) {
  EXPECT_EQ(to_string(complex_abs(tensor_of<double>({3, 2}, {3, -4, 0, 0, 3e300, 4e300}))),
            "float64[3] {5, 0, 5e+300}");
  double infinity = std::numeric_limits<double>::infinity(), nan = infinity - infinity;
  EXPECT_EQ(to_string(complex_abs(tensor_of<double>({2}, {nan, infinity}))), "float64[] {inf}");
}

TEST(Complex, PairsAreViews) {
  Tensor x = tensor_of<float>({4}, {1, 2, 3, 4});
  Tensor z = as_complex(x);
  EXPECT_EQ(z.storage(), x.storage());
  EXPECT_EQ(to_string(as_real(z)), to_string(x));
  EXPECT_THROW(as_complex(tensor_of<float>({3}, {1, 2, 3})), Error);
}

// A turn by no angle changes nothing; the angle of a quarter exchanges the parts.
TEST(Complex, RotaryTurnsNeighbouringPairs) {
  Tensor x = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  Tensor unit = polar(ones({1}, DType::float32), zeros({1}, DType::float32));
  EXPECT_EQ(to_string(unit), "float32[1, 2] {1, 0}");
  EXPECT_EQ(to_string(apply_rotary(x, unit)), to_string(x));
  EXPECT_EQ(to_string(apply_rotary(x, tensor_of<float>({1, 2}, {0, 1}))),
            "float32[2, 2] {-2, 1, -4, 3}");
}

}  // namespace
}  // namespace simmesh
