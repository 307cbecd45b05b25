#include "core/arithmetic/companions/exact_rounding.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "core/arithmetic/sums/leading_bits.h"
#include "tests/core/arithmetic/companions/exact_cases.h"

namespace simmesh {
namespace {

ExactValues of_double(double x) { return ExactValues::of_doubles({x}); }

// Returns the root from the digits of the radicand, rounded once.
double root_of_digits(double x, DType dtype) {
  CarriedSums sums = of_double(x).sums();
  return rounded_root(leading_bits(digits_of(sums, 0)), dtype);
}

// If this fails, the root of a double is rounded twice on its way to a narrower dtype.
TEST(ExactRounding, RootsOfDoublesAreRoundedOnce) {
  std::mt19937_64 random(11);
  struct Case {
    DType dtype;
    int bits;
  };
  for (auto [dtype, bits] : {Case{DType::float32, 24}, Case{DType::bfloat16, 8},
                             Case{DType::float16, 11}, Case{DType::float64, 26}}) {
    std::vector<double> radicands = {0, 1, 0x1p-1074, 0x1p-901, 0x1p-899, 0x1p901, 1e300, 1e-300};
    std::uniform_int_distribution<std::int64_t> halves(std::int64_t(1) << (bits - 1),
                                                       (std::int64_t(1) << bits) - 1);
    for (int i = 0; i < 400; ++i) {
      // Halfway between two numbers of the dtype, or one of them; subnormal ones, too.
      double root = std::ldexp(double(2 * halves(random) + i % 2), i % 300 - 170);
      double square = root * root;
      for (double x : {square, std::nextafter(square, 0), std::nextafter(square, 2 * square)})
        radicands.push_back(x);
    }
    ExactValues roots = ExactValues::of_doubles(radicands).root();
    Tensor rounded = empty({std::int64_t(radicands.size())}, dtype);
    roots.round_into({rounded.mutable_data(), dtype, rounded.shape(), {1}});
    for (std::size_t i = 0; i < radicands.size(); ++i)
      ASSERT_TRUE(same_double(double_at(rounded, i), root_of_digits(radicands[i], dtype)))
          << fmt::format("{:a}", radicands[i]) << " in " << to_string(dtype);
  }
  double minus_one = doubles_of(of_double(-1).root())[0];
  EXPECT_TRUE(std::isnan(minus_one));
  EXPECT_FALSE(std::signbit(doubles_of(of_double(0).root())[0]));
}

// If this fails, a value over a divisor is rounded twice, or to the wrong side.
TEST(ExactRounding, QuotientsAreRoundedOnce) {
  std::mt19937_64 random(7);
  for (std::int64_t divisor : {3, 5, 7, 10, 641, 1000003}) {
    for (TermKind kind : {TermKind::near, TermKind::wide, TermKind::ties, TermKind::subnormal}) {
      std::vector<double> terms = random_terms(DType::float64, kind, 64, random);
      ExactValues values = ExactValues::of_doubles(terms);
      ExactValues pairs = values.plus(values, 0x1p-58).divided(double(divisor));
      for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16}) {
        Tensor rounded = empty({64}, dtype);
        pairs.round_into({rounded.mutable_data(), dtype, {64}, {1}});
        for (std::size_t i = 0; i < terms.size(); ++i) {
          ExactOracle oracle;
          oracle.add(terms[i]);
          oracle.add_product(terms[i], 0x1p-58);
          std::int64_t odd = divisor == 10 ? 5 : divisor;
          double expected = oracle.rounded(dtype, odd);
          if (divisor == 10) {
            ExactOracle half;
            half.add_product(terms[i], 0.5);
            half.add_product(terms[i], 0x1p-59);
            expected = half.rounded(dtype, odd);
          }
          ASSERT_TRUE(same_double(double_at(rounded, i), expected))
              << terms[i] << " / " << divisor << " in " << to_string(dtype);
        }
      }
    }
  }
}

// If this fails, a quotient next to a tie of a float goes to the wrong side: the quotient of the
// upper double is odd, and the lower one carries it over the tie.
TEST(ExactRounding, LowPartsCarryQuotientsOverTies) {
  for (std::int64_t divisor : {3, 5, 7, 9, 11}) {
    for (int steps = -3; steps <= 3; ++steps) {
      double tie = 0x1.000001p0;  // between two floats
      auto bits = std::bit_cast<std::uint64_t>(tie) + std::uint64_t(steps);
      ExactValues near_tie =
          of_double(std::bit_cast<double>(bits)).times(of_double(double(divisor)));
      for (double less : {0x1p-53, -0x1p-53, 0x1p-54, -0x1p-54, 0x1p-100, -0x1p-100}) {
        ExactValues value = near_tie.plus(of_double(less)).divided(double(divisor));
        Rational exact = rational(value, 0);
        float rounded = 0;
        value.round_into({reinterpret_cast<std::byte*>(&rounded), DType::float32, {}, {}});
        ASSERT_EQ(rounded, exact > rational(tie) ? 0x1.000002p0f : 0x1p0f)
            << divisor << " " << steps << " " << less;
      }
    }
  }
}

// If this fails, an element passes for a value that it only rounds, or the other way round.
TEST(ExactRounding, ElementsAreTheirValuesWhereNothingIsLost) {
  std::vector<float> elements = {1, 1, 1.f / 3, 2, -0.f, HUGE_VALF};
  ExactValues third = of_double(1).divided(3);
  const ExactValues parts[] = {of_double(1),
                               of_double(1).plus(of_double(0x1p-80)),
                               third,
                               third.scaled(6),
                               of_double(-1e-60),
                               of_double(HUGE_VAL)};
  ExactValues values = ExactValues::joined(parts);
  EXPECT_EQ(
      values.are_elements(DType::float32, reinterpret_cast<const std::byte*>(elements.data())),
      (std::vector<char>{1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(signed_doubles(values.content())[0] > 0, true);
  EXPECT_EQ((*Unrooted(ExactContent{.count = 1, .high = {9}, .is_root = true})).high[0], 3);
}

}  // namespace
}  // namespace simmesh
