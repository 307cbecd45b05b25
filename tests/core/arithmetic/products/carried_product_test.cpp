#include "core/arithmetic/products/carried_product.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/arithmetic/products/sliced_product.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

constexpr DType carried_product_dtypes[] = {DType::float64, DType::float32, DType::bfloat16,
                                            DType::float16};

struct Factors {
  std::size_t rows, columns, depth;
  DType dtype;
  std::vector<double> a, b;
  Tensor left, right;
  Product product;

  Factors(std::size_t m, std::size_t n, std::size_t k, DType of, TermKind kind,
          std::mt19937_64& random)
      : rows(m), columns(n), depth(k), dtype(of) {
    a = random_terms(of, kind, m * k, random);
    b = random_terms(of, kind, k * n, random);
    // Lines of zeros and of one magnitude are beside the others.
    for (std::size_t i = 0; i < k && m > 3; ++i) a[3 * k + i] = 0;
    for (std::size_t i = 0; i < k && n > 20; ++i) b[i * n + 1] = i % 2 == 0 ? 1 : -1;
    left = tensor_of_terms({std::int64_t(m), std::int64_t(k)}, of, a);
    right = tensor_of_terms({std::int64_t(k), std::int64_t(n)}, of, b);
    product = {.rows = std::int64_t(m),
               .columns = std::int64_t(n),
               .depth = std::int64_t(k),
               .a = {left.data(), of, std::int64_t(k), 1},
               .b = {right.data(), of, std::int64_t(n), 1},
               .result_dtype = of};
  }

  // A part of the depth.
  Product part(std::size_t begin, std::size_t end) const {
    Product result = product;
    std::size_t bytes = bytes_per_element(dtype);
    result.depth = std::int64_t(end - begin);
    result.a.data += begin * bytes;
    result.b.data += begin * columns * bytes;
    return result;
  }

  double expected(std::size_t i, std::size_t j, DType to) const {
    ExactOracle oracle;
    for (std::size_t k = 0; k < depth; ++k)
      oracle.add_product(a[i * depth + k], b[k * columns + j]);
    return oracle.rounded(to);
  }

  void expect(const CarriedSums& sums, const char* what) const {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        for (DType to : {DType::float64, dtype})
          ASSERT_PRED2(same_double, sums.rounded(std::int64_t(i * columns + j), to),
                       expected(i, j, to))
              << what << " of " << to_string(dtype) << " at " << i << ", " << j;
  }
};

bool same_digits(const CarriedSums& a, const CarriedSums& b) {
  if (a.count() != b.count() || a.digit_count() != b.digit_count()) return false;
  if (a.digit_count() == 0) return true;
  return a.low() == b.low() &&
         std::equal(a.digit(0), a.digit(0) + a.count() * a.digit_count(), b.digit(0));
}

// If this fails, a term of a carried product was rounded, or its digits tell how it was made.
TEST(CarriedProduct, IsThatOfTheOracle) {
  std::mt19937_64 random(31);
  for (DType dtype : carried_product_dtypes)
    for (TermKind kind : term_kinds) {
      Factors factors(16, 21, 50, dtype, kind, random);
      CarriedSums first = carried_product(factors.product, InstructionSet::portable);
      factors.expect(first, "the product");
      for (InstructionSet set : available_instruction_sets()) {
        EXPECT_TRUE(same_digits(first, carried_product(factors.product, set))) << to_string(set);
        SlicedProduct floats(factors.product, kernels_of(set), SliceFactors::floats);
        EXPECT_TRUE(same_digits(first, floats.run())) << to_string(set);
      }
    }
}

// If this fails, parts of the depth don't add up to the whole, in whatever order they come.
TEST(CarriedProduct, PartsOfTheDepthAddUp) {
  std::mt19937_64 random(32);
  for (DType dtype : carried_product_dtypes)
    for (TermKind kind : {TermKind::near, TermKind::wide, TermKind::whole_range}) {
      Factors factors(9, 17, 90, dtype, kind, random);
      std::vector<CarriedSums> parts;
      for (std::size_t k = 0; k < 90; k += 30)
        parts.push_back(carried_product(factors.part(k, k + 30)));
      CarriedSums whole = carried_product(factors.product);
      std::sort(parts.begin(), parts.end(),
                [](const CarriedSums& a, const CarriedSums& b) { return a.low() > b.low(); });
      for (int turn = 0; turn < 3; ++turn) {
        std::rotate(parts.begin(), parts.begin() + 1, parts.end());
        DigitSums sums(9 * 17, DigitRange::whole());
        for (const CarriedSums& part : parts) sums.add_sums(part);
        EXPECT_TRUE(same_digits(sums.take(), whole));
      }
    }
}

// If this fails, depths of more than one stretch of the kernels are wrong.
TEST(CarriedProduct, TakesAnyDepth) {
  std::mt19937_64 random(33);
  for (DType dtype : {DType::float32, DType::bfloat16}) {
    Factors factors(3, 5, 4500, dtype, TermKind::wide, random);
    for (InstructionSet set : available_instruction_sets())
      factors.expect(carried_product(factors.product, set), "a deep product");
  }
  Factors none(2, 3, 1, DType::float32, TermKind::near, random);
  EXPECT_EQ(carried_product(none.part(0, 0)).count(), 6);
}

}  // namespace
}  // namespace simmesh
