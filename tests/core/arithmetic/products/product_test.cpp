#include "core/arithmetic/products/product.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/products/carried_product.h"
#include "core/arithmetic/products/exact_product.h"
#include "core/arithmetic/products/product_request.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/check/error.h"
#include "core/tensor/formula.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

constexpr DType product_dtypes[] = {DType::float64, DType::float32, DType::bfloat16,
                                    DType::float16};

ProductOperand operand(const Tensor& matrix) {
  return {matrix.data(), matrix.dtype(), matrix.strides()[0], matrix.strides()[1]};
}

Product product_of(const Tensor& a, const Tensor& b, Tensor& result) {
  return {.rows = a.size(0),
          .columns = b.size(1),
          .depth = a.size(1),
          .a = operand(a),
          .b = operand(b),
          .result = result.mutable_data(),
          .result_dtype = result.dtype(),
          .result_row_stride = b.size(1)};
}

Tensor matrix(std::int64_t rows, std::int64_t columns, DType dtype, std::uint64_t seed) {
  return formula({rows, columns}, {.rule = Rule::wide, .seed = seed, .dtype = dtype});
}

Tensor canonical(const Tensor& a, const Tensor& b, InstructionSet set = best_instruction_set()) {
  Tensor result = empty({a.size(0), b.size(1)}, a.dtype());
  canonical_product(product_of(a, b, result), set);
  return result;
}

Tensor exact(const Tensor& a, const Tensor& b, InstructionSet set = best_instruction_set()) {
  Tensor result = empty({a.size(0), b.size(1)}, a.dtype());
  exact_product(product_of(a, b, result), set);
  return result;
}

template <class T>
T chain(const Tensor& a, const Tensor& b, std::int64_t i, std::int64_t j, T start = T(0)) {
  using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;
  Accumulator sum = Accumulator(start);
  for (std::int64_t k = 0; k < a.size(1); ++k)
    sum = std::fma(
        Accumulator(reinterpret_cast<const T*>(a.data())[i * a.strides()[0] + k * a.strides()[1]]),
        Accumulator(reinterpret_cast<const T*>(b.data())[k * b.strides()[0] + j * b.strides()[1]]),
        sum);
  return T(sum);
}

struct Size {
  std::int64_t rows, columns, depth;
};

// Full tiles, tails of every kind, one row, one column, and a depth over the blocks.
constexpr Size sizes[] = {{1, 1, 1},   {6, 16, 8},    {7, 17, 9},    {1, 40, 30}, {40, 1, 30},
                          {3, 5, 600}, {33, 70, 300}, {13, 250, 20}, {5, 4, 0},   {200, 3, 17}};

TEST(Product, CanonicalIsOneChainPerElement) {
  for (DType dtype : product_dtypes)
    for (const Size& size : sizes)
      for (bool transposed_b : {false, true})
        for (InstructionSet set : available_instruction_sets()) {
          Tensor a = matrix(size.rows, size.depth, dtype, 1);
          Tensor b = transposed_b ? matrix(size.columns, size.depth, dtype, 2).transpose(0, 1)
                                  : matrix(size.depth, size.columns, dtype, 2);
          Tensor result = canonical(a, b, set);
          visit_dtype(dtype, [&]<class T>(T) {
            if constexpr (!std::is_integral_v<T>) {
              auto values = result.values<T>();
              for (std::int64_t i = 0; i < size.rows; ++i)
                for (std::int64_t j = 0; j < size.columns; ++j) {
                  T expected = chain<T>(a, b, i, j);
                  T got = values[std::size_t(i * size.columns + j)];
                  ASSERT_EQ(widened(got), widened(expected))
                      << to_string(dtype) << " " << to_string(set) << " " << size.rows << "x"
                      << size.columns << "x" << size.depth << " at " << i << ", " << j;
                }
            }
          });
        }
}

// A product that is added would start from zero, or from a rounded sum, in some tile.
TEST(Product, CanStartFromWhatTheResultHolds) {
  for (DType dtype : product_dtypes)
    for (const Size& size : sizes)
      for (bool transposed_b : {false, true})
        for (InstructionSet set : available_instruction_sets()) {
          Tensor a = matrix(size.rows, size.depth, dtype, 1);
          Tensor b = transposed_b ? matrix(size.columns, size.depth, dtype, 2).transpose(0, 1)
                                  : matrix(size.depth, size.columns, dtype, 2);
          Tensor start = matrix(size.rows, size.columns, dtype, 3), result = start.clone();
          Product product = product_of(a, b, result);
          product.adds_to_result = true;
          canonical_product(product, set);
          visit_dtype(dtype, [&]<class T>(T) {
            if constexpr (!std::is_integral_v<T>)
              for (std::int64_t i = 0; i < size.rows; ++i)
                for (std::int64_t j = 0; j < size.columns; ++j) {
                  auto at = std::size_t(i * size.columns + j);
                  T expected = chain<T>(a, b, i, j, start.values<T>()[at]);
                  ASSERT_EQ(widened(result.values<T>()[at]), widened(expected))
                      << to_string(dtype) << " " << to_string(set) << " " << size.rows << "x"
                      << size.columns << "x" << size.depth << " at " << i << ", " << j;
                }
          });
        }
  Tensor sums = tensor_of<std::int32_t>({1, 1}, {7});
  Tensor a = tensor_of<std::int32_t>({1, 2}, {2, 3}), b = tensor_of<std::int32_t>({2, 1}, {4, 5});
  Product product = product_of(a, b, sums);
  product.adds_to_result = true;
  canonical_product(product);
  EXPECT_EQ(sums.values<std::int32_t>()[0], 30);
}

// A tail tile must not write past its columns, and a row stride must be kept.
TEST(Product, WritesItsOwnElementsOnly) {
  for (bool is_exact : {false, true}) {
    Tensor a = matrix(9, 20, DType::float32, 1), b = matrix(20, 19, DType::float32, 2);
    Tensor result = full({9, 32}, DType::float32, 7);
    Product product = product_of(a, b, result);
    product.result_row_stride = 32;
    is_exact ? exact_product(product) : canonical_product(product);
    auto values = result.values<float>();
    for (std::size_t i = 0; i < 9; ++i)
      for (std::size_t j = 19; j < 32; ++j) EXPECT_EQ(values[i * 32 + j], 7);
  }
}

TEST(Product, IntegersWrap) {
  Tensor a = tensor_of<std::int32_t>({1, 2}, {1 << 30, 3});
  Tensor b = tensor_of<std::int32_t>({2, 1}, {4, 5});
  EXPECT_EQ(canonical(a, b).values<std::int32_t>()[0], 15);
  EXPECT_EQ(exact(a, b).values<std::int32_t>()[0], 15);
}

TEST(Product, RefusesMixedKinds) {
  Tensor a = zeros({2, 2}, DType::float32), b = zeros({2, 2}, DType::int32);
  EXPECT_THROW(canonical(a, b), Error);
  Tensor c = zeros({2, 2}, DType::boolean);
  EXPECT_THROW(exact(c, c), Error);
}

// The sum of terms that are all multiples of the grid is the exact sum, rounded once.
TEST(Product, ExactRoundsTheTrueSumOnce) {
  Tensor a = tensor_of<float>({1, 3}, {1, 0x1p-30f, -1}), b = tensor_of<float>({3, 1}, {1, 1, 1});
  EXPECT_EQ(exact(a, b).values<float>()[0], 0x1p-30f);
  EXPECT_EQ(canonical(a, b).values<float>()[0], 0);
  Tensor c = tensor_of<double>({1, 3}, {1, 0x1p-90, -1}), d = tensor_of<double>({3, 1}, {1, 1, 1});
  EXPECT_EQ(exact(c, d).values<double>()[0], 0x1p-90);
  Tensor small = tensor_of<float>({1, 1}, {0x1p-149f});
  EXPECT_EQ(exact(small, tensor_of<float>({1, 1}, {1})).values<float>()[0], 0x1p-149f);
  Tensor tiny = tensor_of<double>({1, 1}, {0x1p-1074}),
         huge = tensor_of<double>({1, 1}, {0x1p1023});
  EXPECT_EQ(exact(tiny, huge).values<double>()[0], 0x1p-51);
  EXPECT_FALSE(std::signbit(
      exact(zeros({1, 2}, DType::float32), full({2, 1}, DType::float32, -1)).values<float>()[0]));
}

TEST(Product, ExactNonFiniteElements) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Tensor a = tensor_of<float>({4, 2}, {infinity, 1, infinity, -infinity, std::nanf(""), 1, 2, 3});
  Tensor b = tensor_of<float>({2, 2}, {1, 0, 1, 1});
  auto check = [&](const Tensor& result) {
    auto values = result.values<float>();
    EXPECT_EQ(values[0], infinity);
    EXPECT_TRUE(std::isnan(values[1]));  // infinity times zero
    EXPECT_TRUE(std::isnan(values[2]));
    EXPECT_TRUE(std::isnan(values[4]));
    EXPECT_EQ(values[6], 5);
    EXPECT_EQ(values[7], 3);
  };
  check(exact(a, b));
  Tensor result = empty({4, 2}, DType::float32);
  carried_product(product_of(a, b, result)).round(result.mutable_data(), DType::float32);
  check(result);
}

TEST(Product, EveryInstructionSetGivesTheSameExactBits) {
  for (DType dtype : product_dtypes)
    for (const Size& size : sizes) {
      Tensor a = matrix(size.rows, size.depth, dtype, 3),
             b = matrix(size.depth, size.columns, dtype, 4);
      Tensor first = exact(a, b, InstructionSet::portable);
      for (InstructionSet set : available_instruction_sets())
        EXPECT_TRUE(same_bits(first, exact(a, b, set))) << to_string(set) << to_string(dtype);
    }
}

Tensor columns_of(const Tensor& t, std::int64_t begin, std::int64_t end) {
  return t.narrow({.dim = 1, .start = begin, .length = end - begin});
}
Tensor rows_of(const Tensor& t, std::int64_t begin, std::int64_t end) {
  return t.narrow({.dim = 0, .start = begin, .length = end - begin});
}

// Depth shards, added before they are rounded.
Tensor split_in_depth(const Tensor& a, const Tensor& b, std::int64_t parts, bool backwards) {
  Tensor result = empty({a.size(0), b.size(1)}, a.dtype());
  DigitSums sum(a.size(0) * b.size(1), DigitRange::whole());
  for (std::int64_t p = 0; p < parts; ++p) {
    std::int64_t part = backwards ? parts - 1 - p : p;
    std::int64_t begin = a.size(1) * part / parts, end = a.size(1) * (part + 1) / parts;
    Tensor a_part = columns_of(a, begin, end), b_part = rows_of(b, begin, end);
    sum.add_sums(carried_product(product_of(a_part, b_part, result)));
  }
  sum.take().round(result.mutable_data(), result.dtype());
  return result;
}

RC_GTEST_PROP(ProductProperty, NoSplitChangesABit, ()) {
  auto dtype =
      *rc::gen::elementOf(std::vector<DType>(std::begin(product_dtypes), std::end(product_dtypes)));
  auto rows = *rc::gen::inRange<std::int64_t>(1, 40);
  auto columns = *rc::gen::inRange<std::int64_t>(1, 40);
  auto depth = *rc::gen::inRange<std::int64_t>(8, 700);
  auto parts = *rc::gen::inRange<std::int64_t>(1, 9);
  auto row = *rc::gen::inRange<std::int64_t>(0, rows + 1);
  auto column = *rc::gen::inRange<std::int64_t>(0, columns + 1);
  Tensor a = matrix(rows, depth, dtype, 5);
  Tensor b = matrix(columns, depth, dtype, 6).transpose(0, 1);
  Tensor whole = exact(a, b);
  RC_ASSERT(same_bits(whole, split_in_depth(a, b, parts, false)));
  RC_ASSERT(same_bits(whole, split_in_depth(a, b, parts, true)));
  for (auto product : {canonical, exact}) {
    Tensor all = product(a, b, best_instruction_set());
    for (auto [begin, end] : {std::pair{std::int64_t(0), row}, std::pair{row, rows}})
      RC_ASSERT(same_bits(rows_of(all, begin, end).contiguous(),
                          product(rows_of(a, begin, end), b, best_instruction_set())));
    for (auto [begin, end] : {std::pair{std::int64_t(0), column}, std::pair{column, columns}})
      RC_ASSERT(same_bits(columns_of(all, begin, end).contiguous(),
                          product(a, columns_of(b, begin, end), best_instruction_set())));
  }
}

// If this fails, exact products aren't the correctly rounded sums of their terms.
TEST(Product, ExactElementsAreThoseOfTheOracle) {
  std::mt19937_64 random(7);
  for (DType dtype : product_dtypes)
    for (TermKind kind : term_kinds)
      for (const Size& size : {Size{2, 19, 5}, Size{17, 3, 40}, Size{16, 18, 300}}) {
        auto rows = std::size_t(size.rows), columns = std::size_t(size.columns),
             depth = std::size_t(size.depth);
        std::vector<double> a = random_terms(dtype, kind, rows * depth, random);
        std::vector<double> b = random_terms(dtype, kind, depth * columns, random);
        Tensor left = tensor_of_terms({size.rows, size.depth}, dtype, a);
        Tensor right = tensor_of_terms({size.depth, size.columns}, dtype, b);
        std::vector<Tensor> results;
        for (InstructionSet set : available_instruction_sets())
          results.push_back(exact(left, right, set));
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < columns; ++j) {
            ExactOracle oracle;
            for (std::size_t k = 0; k < depth; ++k)
              oracle.add_product(a[i * depth + k], b[k * columns + j]);
            double expected = oracle.rounded(dtype);
            for (const Tensor& result : results) {
              double got = double_at(result, i * columns + j);
              ASSERT_TRUE(got == expected || (got != got && expected != expected))
                  << to_string(dtype) << " " << int(kind) << " at " << i << ", " << j;
              ASSERT_EQ(std::signbit(got), std::signbit(expected));
            }
          }
      }
}

TEST(Product, ArithmeticChoosesTheKind) {
  Tensor a = tensor_of<float>({1, 3}, {1, 0x1p-30f, -1}), b = tensor_of<float>({3, 1}, {1, 1, 1});
  Tensor result = empty({1, 1}, DType::float32);
  compute(Arithmetic::exact(), product_of(a, b, result));
  EXPECT_EQ(result.values<float>()[0], 0x1p-30f);
  compute(Arithmetic::as_nccl_ring(), product_of(a, b, result));
  EXPECT_EQ(result.values<float>()[0], 0);
}

}  // namespace
}  // namespace simmesh
