#include "core/arithmetic/companions/exact_values.h"

#include <gtest/gtest.h>

#include "core/arithmetic/companions/exact_content.h"
#include "tests/core/arithmetic/companions/exact_cases.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

ExactValues wide_value() {
  return ExactValues::of_doubles({1})
      .plus(ExactValues::of_doubles({0x1p-60}))
      .plus(ExactValues::of_doubles({0x1p-130}));
}

// If this fails, elements of some dtype become other values, or values are rounded to it twice.
TEST(ExactValues, ElementsOfEachDtypeComeBack) {
  std::mt19937_64 random(3);
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16})
    for (TermKind kind : term_kinds) {
      if (kind == TermKind::special) continue;
      Tensor terms = tensor_of_terms({20}, dtype, random_terms(dtype, kind, 20, random));
      ElementArray array{terms.mutable_data(), dtype, {20}, {1}};
      ExactValues values = ExactValues::of(array);
      for (std::size_t i = 0; i < 20; ++i)
        ASSERT_EQ(rational(values, std::int64_t(i)), rational(double_at(terms, i)));
      EXPECT_TRUE(values.equals(array));
      std::vector<char> are_elements = values.are_elements(dtype, array.data);
      EXPECT_EQ(std::count(are_elements.begin(), are_elements.end(), 1), 20);
    }
}

// If this fails, moved values are others, or a moved -0 isn't that of its element.
TEST(ExactValues, TakenAndJoinedValuesStay) {
  ExactValues plain = ExactValues::of_doubles({2, -0.0, 3});
  ExactValues third = ExactValues::of_doubles({1, 7}).divided(3), wide = wide_value();
  const ExactValues parts[] = {plain, wide, third, ExactValues::zeros(1)};
  ExactValues whole = ExactValues::joined(parts);
  ASSERT_EQ(whole.count(), 7);
  const std::int64_t index[] = {3, 1, -1, 5, 3, 0};
  ExactValues taken = whole.taken(index);
  EXPECT_EQ(rational(taken, 0), rational(wide, 0));
  EXPECT_EQ(rational(taken, 3), Rational(7) / 3);
  EXPECT_EQ(rational(taken, 4), rational(wide, 0));
  EXPECT_EQ(rational(taken, 5), 2);
  std::vector<double> rounded = doubles_of(taken);
  EXPECT_TRUE(std::signbit(rounded[1]));
  EXPECT_FALSE(std::signbit(rounded[2]));
  testing::expect_error(
      [&] {
        const std::int64_t past[] = {7};
        whole.taken(past);
      },
      ErrorKind::index_error, "expected an index below 7, or -1, got 7");
}

// If this fails, values leave or enter unrounded sums changed.
TEST(ExactValues, SumsAreTheSameValues) {
  const ExactValues parts[] = {wide_value(), ExactValues::of_doubles({1, -2}).divided(3)};
  ExactValues values = ExactValues::joined(parts);
  ExactValues again = ExactValues::of_sums(values.sums());
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(rational(again, i), rational(values, i));
  EXPECT_EQ(again.content().wide_places, values.content().wide_places);
  EXPECT_EQ(doubles_of(ExactValues::of_sums(ExactValues::of_doubles({4}).root().sums()))[0], 2);
}

// If this fails, a root is rounded twice or where it is kept, or roots and other values mix.
TEST(ExactValues, RootsAreOfExactValues) {
  for (double x : small_numbers()) {
    ExactValues root = ExactValues::of_doubles({x}).times(ExactValues::of_doubles({x})).root();
    EXPECT_EQ(doubles_of(root)[0], std::fabs(x));
    EXPECT_EQ(doubles_of(root.divided(std::sqrt(7.0)).scaled(std::sqrt(1.75)))[0] >= 0, true);
    EXPECT_EQ(rational(root.divided(std::sqrt(7.0)), 0), rational(x) * rational(x) / 7);
  }
  // 2 + 2^-100 has a root just above that of 2.
  ExactValues above = ExactValues::of_doubles({4}).plus(ExactValues::of_doubles({0x1p-102}));
  EXPECT_EQ(doubles_of(above.root())[0], 2);
  EXPECT_EQ(doubles_of(above.plus(ExactValues::of_doubles({-4})).root())[0], 0x1p-51);
  EXPECT_TRUE(std::isnan(doubles_of(ExactValues::of_doubles({-1}).root())[0]));
  const ExactValues mixed[] = {ExactValues::of_doubles({2}).root(), ExactValues::of_doubles({-3})};
  ExactValues joined = ExactValues::joined(mixed);
  EXPECT_FALSE(joined.is_root());
  EXPECT_EQ(doubles_of(joined), (std::vector<double>{std::sqrt(2.0), -3}));
}

// If this fails, values are written beyond their elements.
TEST(ExactValues, CountsOfElementsMustAgree) {
  std::vector<double> two(2);
  testing::expect_error([&] { ExactValues::zeros(3).round_into(doubles_in(two)); },
                        ErrorKind::value_error, "expected 3 elements, got 2");
  EXPECT_EQ(ExactValues().count(), 0);
  EXPECT_EQ(ExactValues::zeros(3).nbytes(), 24);
}

}  // namespace
}  // namespace simmesh
