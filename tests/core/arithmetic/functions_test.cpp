#include "core/arithmetic/functions.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "core/check/error.h"

namespace simmesh {
namespace {

// The C library, which the functions share nothing with.
template <class T>
T oracle(Function function, T x) {
  switch (function) {
    case Function::exp: return std::exp(x);
    case Function::expm1: return std::expm1(x);
    case Function::log: return std::log(x);
    case Function::log1p: return std::log1p(x);
    case Function::log2: return std::log2(x);
    case Function::tanh: return std::tanh(x);
    case Function::sigmoid: return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
    case Function::erf: return std::erf(x);
    case Function::sin: return std::sin(x);
    case Function::cos: return std::cos(x);
    case Function::sqrt: return std::sqrt(x);
    case Function::rsqrt: return 1 / std::sqrt(x);
    case Function::log10: return std::log10(x);
    case Function::sinh: return std::sinh(x);
    case Function::cosh: return std::cosh(x);
    case Function::asin: return std::asin(x);
    case Function::acos: return std::acos(x);
    case Function::atan: return std::atan(x);
    case Function::asinh: return std::asinh(x);
    case Function::acosh: return std::acosh(x);
    case Function::atanh: return std::atanh(x);
    case Function::erfc: return std::erfc(x);
  }
  return 0;
}

// The error in units of the last place of T at the expected value; 0 for two NaNs and for the
// nearest T where that is infinite.
template <class T>
double ulps(T got, long double expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : 1e9;
  T nearest = static_cast<T>(expected);
  if (!std::isfinite(nearest)) return got == nearest ? 0 : 1e9;
  auto magnitude = static_cast<T>(std::fabs(nearest));
  if (static_cast<long double>(magnitude) > std::fabs(expected))
    magnitude = std::nextafter(magnitude, T(0));
  T next = std::nextafter(magnitude, std::numeric_limits<T>::infinity());
  long double unit = static_cast<long double>(next) - magnitude;
  if (!std::isfinite(next))
    unit = static_cast<long double>(magnitude) - std::nextafter(magnitude, T(0));
  return double(std::fabs(static_cast<long double>(got) - expected) / unit);
}

// The error of a float against the C library in double: within 2^-28 units of that of ulps where it
// is below 2^20 and the expected value is normal, else infinite.
double close_ulps(float got, double expected) {
  constexpr std::uint64_t exponent_mask = 0x7FF0000000000000u;
  double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(expected) & exponent_mask);
  bool is_normal = power >= 0x1p-126 && power < 0x1p127;
  double error = std::fabs(double(got) - expected) / (power * 0x1p-23);
  return is_normal && error < 0x1p20 ? error : std::numeric_limits<double>::infinity();
}

// The largest error over every step-th float from one on; extended precision decides where it could
// matter.
double float_sweep(Function function, std::uint64_t first, std::uint64_t step) {
  constexpr std::size_t part = 1 << 14;
  std::vector<float> x(part), y(part);
  double worst = 0.4999;
  for (std::uint64_t bits = first; bits < (std::uint64_t(1) << 32);) {
    std::size_t count = 0;
    for (; count < part && bits < (std::uint64_t(1) << 32); bits += step)
      x[count++] = std::bit_cast<float>(std::uint32_t(bits));
    apply_function<float>(function, {x.data(), count}, {y.data(), count});
    for (std::size_t i = 0; i < count; ++i) {
      double expected = oracle<double>(function, x[i]);
      bool same = y[i] == expected || (std::isnan(y[i]) && std::isnan(expected));
      if (same || close_ulps(y[i], expected) < worst - 0x1p-20) continue;
      worst = std::max(worst, ulps(y[i], oracle<long double>(function, x[i])));
    }
  }
  return worst;
}

// Rounded once from double: at most half a unit, and what double's own errors add, 3 * 2^-29.
constexpr double float_bound = 0.50000001;

// All floats take minutes a function. With --gtest_shuffle the seed selects the floats, and a
// repetition takes the next ones: --gtest_random_seed=1 --gtest_repeat=40993 takes them all.
TEST(Functions, FloatsAreWithinHalfAUnit) {
  constexpr std::uint64_t step = 40993;
  auto first = std::uint64_t(::testing::UnitTest::GetInstance()->random_seed()) % step;
  for (Function function : all_functions)
    EXPECT_LE(float_sweep(function, first, step), float_bound)
        << to_string(function) << " from " << first;
}

TEST(Functions, DoublesAreWithinTwoUnitsOrThree) {
  for (Function function : all_functions) {
    double worst = 0, at = 0;
    auto check = [&](double x) {
      double error = ulps(apply_function(function, x), oracle<long double>(function, x));
      if (error > worst) worst = error, at = x;
    };
    // Every exponent with some mantissas, and a dense part around 1.
    for (std::uint64_t bits = 0; bits < 0x7FF0000000000000u; bits += 0x0003456789ABCDEFu)
      for (std::uint64_t sign : {std::uint64_t(0), std::uint64_t(1) << 63})
        check(std::bit_cast<double>(bits | sign));
    for (int i = -20000; i <= 20000; ++i) check(double(i) * 0x1.23456789abcdp-10);
    for (int i = -2000; i <= 2000; ++i) check(double(i) * 0x1.921fb54442d18p0);
    EXPECT_LE(worst, function == Function::erfc ? 3 : 2) << to_string(function) << " at " << at;
  }
}

TEST(Functions, SpecialValues) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto is = [](Function function, double x, double expected) {
    double got = apply_function(function, x);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(expected))
        << to_string(function) << "(" << x << ") = " << got;
  };
  for (Function function : {Function::expm1, Function::log1p, Function::tanh, Function::erf,
                            Function::sin, Function::sqrt, Function::sinh, Function::asin,
                            Function::atan, Function::asinh, Function::atanh})
    for (double zero : {0.0, -0.0}) is(function, zero, zero);
  is(Function::exp, infinity, infinity);
  is(Function::exp, -infinity, 0);
  is(Function::expm1, -infinity, -1);
  is(Function::log, 0, -infinity);
  is(Function::log, 1, 0);
  is(Function::log2, 8, 3);
  is(Function::log1p, -1, -infinity);
  is(Function::tanh, -infinity, -1);
  is(Function::sigmoid, 0, 0.5);
  is(Function::sigmoid, -infinity, 0);
  is(Function::erf, infinity, 1);
  is(Function::cos, 0, 1);
  is(Function::rsqrt, 0, infinity);
  for (int power = -3; power <= 22; ++power)
    is(Function::log10, std::strtod(fmt::format("1e{}", power).c_str(), nullptr), power);
  is(Function::log10, 0, -infinity);
  is(Function::sinh, -infinity, -infinity);
  is(Function::cosh, -infinity, infinity);
  is(Function::cosh, 0, 1);
  is(Function::asin, -1, -0x1.921fb54442d18p0);
  is(Function::acos, 1, 0);
  is(Function::acos, -1, 0x1.921fb54442d18p1);
  is(Function::atan, -infinity, -0x1.921fb54442d18p0);
  is(Function::asinh, -infinity, -infinity);
  is(Function::acosh, 1, 0);
  is(Function::acosh, infinity, infinity);
  is(Function::atanh, -1, -infinity);
  is(Function::erfc, -infinity, 2);
  is(Function::erfc, 0, 1);
  is(Function::erfc, infinity, 0);
  for (Function function : all_functions)
    EXPECT_TRUE(std::isnan(apply_function(function, std::nan("")))) << to_string(function);
  for (Function function : {Function::sin, Function::cos})
    EXPECT_TRUE(std::isnan(apply_function(function, infinity)));
  for (Function function : {Function::log, Function::log2, Function::log10, Function::sqrt,
                            Function::rsqrt, Function::acosh})
    EXPECT_TRUE(std::isnan(apply_function(function, -1)));
  for (Function function : {Function::asin, Function::acos, Function::atanh})
    for (double outside : {-1.5, 1.0 + 0x1p-52, infinity})
      EXPECT_TRUE(std::isnan(apply_function(function, outside))) << to_string(function);
  EXPECT_TRUE(std::isnan(apply_function(Function::acosh, 1 - 0x1p-53)));
}

TEST(Functions, EveryInstructionSetGivesTheSameBits) {
  std::vector<double> x;
  for (std::uint64_t bits = 0; bits < 0x7FF0000000000000u; bits += 0x0013456789ABCDEFu)
    for (double sign : {1.0, -1.0}) x.push_back(sign * std::bit_cast<double>(bits));
  for (int i = -3000; i < 3000; ++i) x.push_back(i * 0.01);
  std::vector<double> first(x.size()), y(x.size());
  for (Function function : all_functions) {
    apply_function<double>(function, x, first, InstructionSet::portable);
    for (InstructionSet set : available_instruction_sets()) {
      apply_function<double>(function, x, y, set);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint64_t>(y[i]), std::bit_cast<std::uint64_t>(first[i]))
            << to_string(function) << "(" << x[i] << ") " << to_string(set);
    }
  }
}

// 16-bit results come from double in one rounding.
TEST(Functions, SixteenBitsAreRoundedOnce) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto x = std::bit_cast<Half>(std::uint16_t(bits));
    Half y{};
    apply_function<Half>(Function::exp, {&x, 1}, {&y, 1});
    Half expected = rounded_to<Half>(apply_function(Function::exp, double(float(x))));
    ASSERT_EQ(std::bit_cast<std::uint16_t>(y), std::bit_cast<std::uint16_t>(expected));
  }
}

TEST(Functions, PowerFollowsTheCLibrary) {
  const double values[] = {0.0,
                           -0.0,
                           1,
                           -1,
                           0.5,
                           -0.5,
                           2,
                           3,
                           -3,
                           1.5,
                           10,
                           1e300,
                           1e-300,
                           0.1,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::nan("")};
  for (double x : values)
    for (double y : values) {
      double got = power(x, y), expected = std::pow(x, y);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << x << "^" << y;
      else if (std::isinf(expected) || expected == 0)
        EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(expected))
            << x << "^" << y;
      else
        EXPECT_LE(std::fabs(got - expected), std::fabs(expected) * 0x1p-46) << x << "^" << y;
    }
  for (int i = 1; i < 4000; ++i) {
    float x = float(i) * 0.013f, y = float(i % 97) * 0.31f - 15, got = 0;
    power({.dtype = DType::float32,
           .base = reinterpret_cast<const std::byte*>(&x),
           .exponent = reinterpret_cast<const std::byte*>(&y),
           .result = reinterpret_cast<std::byte*>(&got),
           .count = 1});
    EXPECT_LE(ulps(got, std::pow((long double)(x), (long double)(y))), 0.5001) << x << "^" << y;
  }
}

TEST(Functions, RefuseIntegers) {
  std::int32_t x = 1;
  EXPECT_THROW(apply_function<std::int32_t>(Function::exp, {&x, 1}, {&x, 1}), Error);
}

}  // namespace
}  // namespace simmesh
