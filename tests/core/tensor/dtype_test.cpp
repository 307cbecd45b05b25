#include "core/tensor/dtype.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

template <class T>
std::uint16_t bits_of(T value) {
  return std::bit_cast<std::uint16_t>(value);
}

// The value of positive bits; the bits of infinity stand for the next power of two. From half way
// between it and the largest finite value on, rounding to nearest gives infinity.
template <class T>
double value_of(unsigned bits, unsigned infinity) {
  if (bits == infinity) return 2 * value_of<T>(infinity - (infinity & -infinity), infinity);
  return double(static_cast<float>(std::bit_cast<T>(std::uint16_t(bits))));
}

template <class T>
void expect_rounded(double x, unsigned bits) {
  ASSERT_EQ(bits_of(rounded_to<T>(x)), bits) << x;
  ASSERT_EQ(bits_of(rounded_to<T>(-x)), bits | 0x8000u) << -x;
}

// Takes every pair of neighbours a < b: a itself, the middle, and the doubles next to the middle.
// The middle is a double, so this is the definition of rounding to nearest, ties to even. The
// doubles next to it are those that a conversion through float32 rounds twice.
template <class T>
void expect_every_tie(unsigned infinity) {
  for (unsigned bits = 0; bits < infinity; ++bits) {
    double a = value_of<T>(bits, infinity), b = value_of<T>(bits + 1, infinity);
    double middle = a + (b - a) / 2;
    expect_rounded<T>(a, bits);
    expect_rounded<T>(middle, bits % 2 == 0 ? bits : bits + 1);
    expect_rounded<T>(std::nextafter(middle, 0.0), bits);
    expect_rounded<T>(std::nextafter(middle, HUGE_VAL), bits + 1);
  }
  expect_rounded<T>(HUGE_VAL, infinity);
  expect_rounded<T>(std::numeric_limits<double>::max(), infinity);
}

// If these fail, an element of a 16-bit tensor is off by one: subnormal, tie or overflow.
TEST(DType, RoundsToHalfOnce) { expect_every_tie<Half>(0x7C00); }
TEST(DType, RoundsToBFloat16Once) { expect_every_tie<BFloat16>(0x7F80); }

// If this fails, rounding goes through float32: there 1 + 2^-11 + 2^-40 becomes a tie.
TEST(DType, DoubleRoundingExamples) {
  EXPECT_EQ(bits_of(rounded_to<Half>(1 + 0x1p-11)), 0x3C00);
  EXPECT_EQ(bits_of(rounded_to<Half>(1 + 0x1p-11 + 0x1p-40)), 0x3C01);
  EXPECT_EQ(bits_of(rounded_to<Half>(1 + 0x3p-11 - 0x1p-40)), 0x3C01);
  EXPECT_EQ(bits_of(rounded_to<BFloat16>(1 + 0x1p-8 + 0x1p-40)), 0x3F81);
  EXPECT_EQ(bits_of(rounded_to<BFloat16>(1 + 0x3p-8 - 0x1p-40)), 0x3F81);
}

// If this fails, signs of zero or NaNs are lost.
TEST(DType, RoundingKeepsZeroSignsAndNaN) {
  EXPECT_EQ(bits_of(rounded_to<Half>(-0.0)), 0x8000);
  EXPECT_EQ(bits_of(rounded_to<BFloat16>(-1e-300)), 0x8000);
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(static_cast<float>(rounded_to<Half>(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(rounded_to<BFloat16>(nan))));
  EXPECT_TRUE(std::isnan(rounded_to<float>(nan)));
}

// If this fails, a dtype is read back as another, or two sizes disagree.
TEST(DType, NamesSizesAndTypesAgree) {
  for (DType dtype : all_dtypes) {
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
    visit_dtype(dtype, [&]<class T>(T) {
      EXPECT_EQ(dtype_of<T>, dtype);
      EXPECT_EQ(sizeof(T), bytes_per_element(dtype));
      EXPECT_EQ(!std::is_integral_v<T>, is_floating_point(dtype));
    });
  }
  EXPECT_EQ(to_string(DType::boolean), "bool");
}

// If this fails, a misspelt dtype passes silently.
TEST(DType, UnknownNamesAreRefused) {
  for (std::string_view name : {"", "float", "boolean", "Float32", "int8"}) {
    expect_error([&] { dtype_from_string(name); }, ErrorKind::value_error, "bfloat16");
  }
}

}  // namespace
}  // namespace simmesh
