#include "core/arithmetic/reductions/exact_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "core/arithmetic/reductions/rank_order.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/check/int128.h"
#include "core/kernels/kernels.h"
#include "core/tensor/formula.h"
#include "tests/core/arithmetic/exact_oracle.h"
#include "tests/core/arithmetic/reduced.h"

namespace simmesh {
namespace {

constexpr DType order_dtypes[] = {DType::float64, DType::float32, DType::bfloat16, DType::float16};
constexpr ReduceOp adding[] = {ReduceOp::sum, ReduceOp::avg, ReduceOp::premul_sum};

// Random signs and mantissas, magnitudes 2^-spread .. 2^(spread + 1), or beyond the dtype.
Tensor scattered(DType dtype, std::uint64_t seed, std::int64_t count, int spread) {
  Tensor result = empty({count}, dtype);
  visit_dtype(dtype, [&]<class T>(T) {
    std::uint64_t i = 0;
    for (T& x : result.mutable_values<T>()) {
      std::uint64_t word = formula_word(seed, i), other = formula_word(~seed, i++);
      int exponent = int(other % std::uint64_t(2 * spread + 1)) - spread;
      double mantissa = 1 + double(word >> 12) * 0x1p-52;
      x = rounded_to<T>(std::ldexp(other >> 63 ? -mantissa : mantissa, exponent));
    }
  });
  return result;
}

void expect_one_result(const std::vector<Tensor>& operands, const Reduction& call) {
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  Tensor first = reduced(ExactOrder(), operands, call);
  int permutations = 0;
  do {
    std::vector<Tensor> permuted;
    for (std::size_t r : order) permuted.push_back(operands[r]);
    EXPECT_TRUE(same_bits(reduced(ExactOrder(), permuted, call), first))
        << to_string(call.op) << " of " << to_string(first.dtype()) << ", operands " << order[0]
        << order[1] << order[2] << order[3];
    ++permutations;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(permutations, 24);
}

// If this fails, exact sums depend on the order of the ranks.
TEST(ExactOrder, EveryPermutationGivesTheSameBits) {
  for (DType dtype : order_dtypes)
    for (ReduceOp op : adding)
      for (int spread : {0, 3, 14, 40, 120, 1000}) {
        std::vector<Tensor> operands;
        for (std::uint64_t r = 0; r < 4; ++r)
          operands.push_back(scattered(dtype, 10 * r + std::uint64_t(spread), 64, spread));
        expect_one_result(operands, {.op = op, .factor = 0.3});
      }
}

// Operand r holds, at element i, value (i / 8^r) % 8 of the list: every combination of four.
std::vector<Tensor> every_combination(DType dtype) {
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {1.0, -3.0, -0.0, 60000.0, infinity, -infinity, nan, -nan};
  std::vector<Tensor> operands;
  for (int r = 0; r < 4; ++r) {
    Tensor operand = empty({8 * 8 * 8 * 8}, dtype);
    visit_dtype(dtype, [&]<class T>(T) {
      int i = 0;
      for (T& x : operand.mutable_values<T>()) x = rounded_to<T>(values[(i++ >> (3 * r)) % 8]);
    });
    operands.push_back(operand);
  }
  return operands;
}

// If this fails, infinities or the payload of a NaN tell the order of the ranks.
TEST(ExactOrder, InfinitiesAndNaNsFollowIeeeInEveryOrder) {
  for (DType dtype : order_dtypes)
    for (ReduceOp op : adding) expect_one_result(every_combination(dtype), {.op = op, .factor = 2});
  std::vector<Tensor> operands = every_combination(DType::float64);
  Tensor sums = reduced(ExactOrder(), operands);
  for (std::size_t i = 0; i < std::size_t(sums.numel()); ++i) {
    double sum = 0;
    for (const Tensor& operand : operands) sum += operand.values<double>()[i];
    double actual = sums.values<double>()[i];
    if (std::isnan(sum))
      EXPECT_TRUE(std::isnan(actual)) << i;
    else
      EXPECT_EQ(actual, sum) << i;
  }
}

// If this fails, an exact reduction isn't the correctly rounded sum of an element's own terms.
TEST(ExactOrder, SumsAreThoseOfTheOracle) {
  std::mt19937_64 random(21);
  constexpr double factors[] = {0.3, -3, 0x1p-20, 1e30};
  for (DType dtype : order_dtypes)
    for (TermKind kind : term_kinds)
      for (ReduceOp op : adding)
        for (std::size_t count : {1u, 7u, 40u, 267u})
          for (std::size_t ranks : {1u, 2u, 3u, 8u}) {
            Reduction call{.op = op, .factor = factors[random() % 4]};
            double factor = 1;
            if (op == ReduceOp::premul_sum)
              visit_dtype(dtype, [&]<class T>(T) { factor = double(rounded_to<T>(call.factor)); });
            std::vector<ExactOracle> oracles(count);
            std::vector<Tensor> operands;
            for (std::size_t r = 0; r < ranks; ++r) {
              std::vector<double> terms = random_terms(dtype, kind, count, random);
              operands.push_back(tensor_of_terms({std::int64_t(count)}, dtype, terms));
              for (std::size_t i = 0; i < count; ++i) oracles[i].add_product(terms[i], factor);
            }
            Tensor sums = reduced(ExactOrder(), operands, call);
            for (std::size_t i = 0; i < count; ++i) {
              double expected =
                  oracles[i].rounded(dtype, op == ReduceOp::avg ? std::int64_t(ranks) : 1);
              ASSERT_PRED2(same_double, double_at(sums, i), expected)
                  << to_string(dtype) << " " << to_string(op) << " of kind " << int(kind) << ", "
                  << ranks << " operands, element " << i << " of " << count;
            }
          }
}

// If this fails, an element's bits depend on its neighbours or on zeros among its terms.
TEST(ExactOrder, SmallElementsComeBackAsTheyAre) {
  std::vector<Tensor> operands = {tensor_of<float>({2}, {1e20f, 1e-3f}), zeros({2}, DType::float32),
                                  zeros({2}, DType::float32)};
  EXPECT_TRUE(same_bits(reduced(ExactOrder(), operands), operands[0]));
  operands[0] = tensor_of<float>({2}, {1.5f, 1.23456778e-09f});
  EXPECT_TRUE(same_bits(reduced(ExactOrder(), operands), operands[0]));
}

// If this fails, the bits of a sum depend on the processor.
TEST(ExactOrder, EveryInstructionSetGivesTheSameBits) {
  constexpr std::int64_t count = 333, ranks = 5;
  for (int spread : {2, 12, 60})
    for (double divisor : {1.0, 5.0}) {
      std::vector<Tensor> operands;
      std::vector<const float*> rows;
      for (std::uint64_t r = 0; r < ranks; ++r) {
        operands.push_back(scattered(DType::float32, r, count, spread));
        rows.push_back(operands.back().values<float>().data());
      }
      ReduceOp op = divisor == 1 ? ReduceOp::sum : ReduceOp::avg;
      Tensor expected = reduced(ExactOrder(), operands, {.op = op});
      for (InstructionSet set : available_instruction_sets()) {
        Tensor sums = empty({count}, DType::float32);
        std::vector<std::int32_t> unsettled(count);
        std::int64_t open =
            kernels_of(set).exact_fold_float({.rows = rows.data(),
                                              .row_count = ranks,
                                              .count = count,
                                              .divisor = divisor,
                                              .out = sums.mutable_values<float>().data(),
                                              .unsettled = unsettled.data()});
        for (auto i : gsl::span(unsettled).first(std::size_t(open)))
          sums.mutable_values<float>()[std::size_t(i)] = expected.values<float>()[std::size_t(i)];
        EXPECT_LT(open, count / 2);
        EXPECT_TRUE(same_bits(sums, expected)) << to_string(set) << spread;
      }
    }
}

// If this fails, a result that is one of the operands is read after it was written.
TEST(ExactOrder, TheResultMayBeAnOperand) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float64}) {
    std::vector<Tensor> operands;
    for (std::uint64_t r = 0; r < 3; ++r) operands.push_back(scattered(dtype, r, 1000, 60));
    Tensor expected = reduced(ExactOrder(), operands);
    Tensor result = operands[1].clone();
    std::vector<const std::byte*> data = {operands[0].data(), result.data(), operands[2].data()};
    ExactOrder().reduce(
        {.dtype = dtype, .operands = data, .count = 1000, .result = result.mutable_data()});
    EXPECT_TRUE(same_bits(result, expected)) << to_string(dtype);
  }
}

// If this fails, a sum that a double holds in full is not the correctly rounded one. Terms of
// 2^-11 .. 2^12 with at most 24 bits are multiples of 2^-34, so a double holds their sum.
TEST(ExactOrder, NarrowSumsAreCorrectlyRounded) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    std::vector<Tensor> operands;
    for (std::uint64_t r = 0; r < 4; ++r) operands.push_back(scattered(dtype, r, 4000, 11));
    Tensor actual = reduced(ExactOrder(), operands);
    visit_dtype(dtype, [&]<class T>(T) {
      if constexpr (!std::is_integral_v<T>)
        for (std::size_t i = 0; i < 4000; ++i) {
          double sum = 0;
          for (const Tensor& operand : operands) sum += widened(operand.values<T>()[i]);
          ASSERT_EQ(actual.values<T>()[i], rounded_to<T>(sum)) << to_string(dtype) << " " << i;
        }
    });
  }
}

// If this fails, float64 sums lose bits that two doubles hold. Terms are k * 2^e with
// 53-bit k and e of 0 to 58, so long integers hold the sum; the compiler rounds it to double.
TEST(ExactOrder, WideSumsAreCorrectlyRounded) {
  for (int exponent : {-1074, -300, 0, 900}) {
    constexpr std::size_t count = 4000;
    std::vector<Tensor> operands;
    std::vector<Int128> sums(count, 0);
    for (std::uint64_t r = 0; r < 4; ++r) {
      Tensor operand = empty({std::int64_t(count)}, DType::float64);
      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t word = formula_word(r, i);
        std::int64_t k = std::int64_t(word) >> 10;
        int e = int(formula_word(100 + r, i) % 59);
        operand.mutable_values<double>()[i] = std::ldexp(double(k), e + exponent);
        sums[i] += Int128(k) * (Int128(1) << e);
      }
      operands.push_back(operand);
    }
    Tensor actual = reduced(ExactOrder(), operands);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(actual.values<double>()[i], std::ldexp(double(sums[i]), exponent)) << i;
  }
}

// If this fails, cancellation loses the small term that a left fold loses too.
TEST(ExactOrder, CancellationKeepsTheSmallTerm) {
  std::vector<Tensor> operands = {tensor_of<float>({1}, {0x1p40f}), tensor_of<float>({1}, {1.5f}),
                                  tensor_of<float>({1}, {-0x1p40f})};
  EXPECT_EQ(reduced(ExactOrder(), operands).values<float>()[0], 1.5f);
  EXPECT_EQ(reduced(RankOrder(), operands).values<float>()[0], 0.0f);
}

// If this fails, results overflow to a finite value, sums of nothing are -0, or there are too many
// terms.
TEST(ExactOrder, HasNoLimits) {
  float most = std::numeric_limits<float>::max();
  std::vector<Tensor> large(3, full({1}, DType::float32, most));
  EXPECT_EQ(reduced(ExactOrder(), large).values<float>()[0], HUGE_VALF);
  large.push_back(full({1}, DType::float32, -most));
  large.push_back(full({1}, DType::float32, -most));
  EXPECT_EQ(reduced(ExactOrder(), large).values<float>()[0], most);
  std::vector<Tensor> zeros_of_both(2, full({1}, DType::float32, -0.0));
  EXPECT_FALSE(std::signbit(reduced(ExactOrder(), zeros_of_both).values<float>()[0]));
  for (DType dtype : {DType::float32, DType::float64}) {
    std::vector<Tensor> many(5000, full({2}, dtype, 1.75));
    EXPECT_TRUE(same_bits(reduced(ExactOrder(), many), full({2}, dtype, 8750)));
  }
}

// If this fails, operations that cannot depend on the order differ between the modes.
TEST(ExactOrder, TheRestIsAsRankOrder) {
  for (DType dtype : {DType::int64, DType::float32, DType::float16, DType::boolean})
    for (ReduceOp op : {ReduceOp::min, ReduceOp::max, ReduceOp::product}) {
      std::vector<Tensor> operands;
      for (std::uint64_t r = 0; r < 3; ++r)
        operands.push_back(formula({50}, {.rule = Rule::wide, .seed = r, .dtype = dtype}));
      EXPECT_TRUE(same_bits(reduced(ExactOrder(), operands, {.op = op}),
                            reduced(RankOrder(), operands, {.op = op})));
    }
}

}  // namespace
}  // namespace simmesh
