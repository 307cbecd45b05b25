#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "core/arithmetic/companions/exact_pair.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/kernels/instruction_set.h"
#include "core/kernels/kernels.h"
#include "tests/core/arithmetic/companions/exact_cases.h"

namespace simmesh {
namespace {

// PairLists are the same pairs as operands of kernels.
struct PairLists {
  std::vector<double> high, low;

  void add(const ExactPair& pair) {
    high.push_back(pair.high);
    low.push_back(pair.low);
  }
  PairOperand with_lows() const { return {high.data(), low.data(), 1}; }
  PairOperand without_lows() const { return {high.data(), nullptr, 1}; }
};

struct Results {
  std::vector<double> high, low;
  std::vector<std::int32_t> inexact;
  bool has_lows = false;
};

template <class Kernel>
Results run(Kernel kernel, const PairOperand& a, const PairOperand& b, std::int64_t count) {
  Results results{std::vector<double>(std::size_t(count)), std::vector<double>(std::size_t(count)),
                  std::vector<std::int32_t>(std::size_t(count))};
  int listed = kernel(
      a, b,
      {results.high.data(), results.low.data(), count, results.inexact.data(), &results.has_lows});
  results.inexact.resize(std::size_t(listed));
  return results;
}

// Returns pairs of every kind of the small numbers: at most a block.
PairLists pairs_with(double low_scale) {
  PairLists lists;
  for (double x : small_numbers())
    for (double y : {0.0, 1.0, 0x1.fffffp-1}) {
      ExactPair pair = added({x}, x * low_scale * y);
      lists.add(pair.is_exact() ? pair : ExactPair{x});
    }
  return lists;
}

void expect_value(const Results& results, std::int64_t i, const Rational& value) {
  auto place = std::size_t(i);
  EXPECT_EQ(rational(results.high[place]) + rational(results.low[place]), value) << i;
  EXPECT_EQ(results.high[place] + results.low[place], results.high[place]) << i;
}

// If this fails, sums or products that a kernel calls exact aren't, or pairs are listed in vain.
TEST(PairKernels, ResultsAreExactOrListed) {
  PairLists a = pairs_with(0x1p-60), b = pairs_with(-0x1p-54);
  auto count = std::int64_t(a.high.size());
  for (InstructionSet set : available_instruction_sets()) {
    const Kernels& kernels = kernels_of(set);
    for (std::int64_t turn = 0; turn < count; ++turn) {
      std::rotate(b.high.begin(), b.high.begin() + 1, b.high.end());
      std::rotate(b.low.begin(), b.low.begin() + 1, b.low.end());
      Results sums = run(kernels.add_pairs, a.with_lows(), b.with_lows(), count);
      Results products = run(kernels.multiply_pairs, a.with_lows(), b.without_lows(), count);
      Results plain = run(kernels.multiply_pairs, a.without_lows(), b.without_lows(), count);
      for (std::int64_t i = 0; i < count; ++i) {
        auto place = std::size_t(i);
        Rational x = rational(a.high[place]), low = rational(a.low[place]);
        Rational y = rational(b.high[place]), y_low = rational(b.low[place]);
        auto is_listed = [i](const Results& results) {
          return std::find(results.inexact.begin(), results.inexact.end(), i) !=
                 results.inexact.end();
        };
        if (!is_listed(sums)) expect_value(sums, i, x + low + y + y_low);
        if (!is_listed(products)) expect_value(products, i, (x + low) * y);
        bool is_pair = multiplied(a.high[place], b.high[place]).is_exact();
        EXPECT_EQ(is_listed(plain), !is_pair);
        if (is_pair) expect_value(plain, i, x * y);
      }
    }
  }
}

// If this fails, instruction sets give other bits, or a repeated operand isn't the first one.
TEST(PairKernels, InstructionSetsAgree) {
  PairLists a = pairs_with(0x1p-60), b = pairs_with(-0x1p-54);
  for (std::int64_t count : {std::int64_t(1), std::int64_t(7), std::int64_t(a.high.size())}) {
    PairOperand one{b.high.data() + 4, b.low.data() + 4, 0};
    PairLists repeated;
    for (std::int64_t i = 0; i < count; ++i) repeated.add({*one.high, *one.low});
    const Kernels& plain = *portable_kernels();
    Results sums = run(plain.add_pairs, a.with_lows(), repeated.with_lows(), count);
    Results products = run(plain.multiply_pairs, a.with_lows(), repeated.with_lows(), count);
    for (InstructionSet set : available_instruction_sets()) {
      Results others = run(kernels_of(set).add_pairs, a.with_lows(), one, count);
      EXPECT_EQ(others.high, sums.high);
      EXPECT_EQ(others.low, sums.low);
      EXPECT_EQ(others.inexact, sums.inexact);
      EXPECT_EQ(others.has_lows, sums.has_lows);
      others = run(kernels_of(set).multiply_pairs, a.with_lows(), one, count);
      EXPECT_EQ(others.high, products.high);
      EXPECT_EQ(others.low, products.low);
      EXPECT_EQ(others.inexact, products.inexact);
    }
  }
}

// If this fails, a quotient is narrowed to another float than the exact one is.
TEST(PairKernels, OddQuotientsAreNarrowedRight) {
  PairLists pairs = pairs_with(0x1p-60);
  auto count = std::int64_t(pairs.high.size());
  for (InstructionSet set : available_instruction_sets())
    for (double divisor : {1.0, 3.0, 7.0, 0x1p49 + 1}) {
      std::vector<double> odd(pairs.high.size());
      std::vector<std::int32_t> unsettled(pairs.high.size());
      int listed = kernels_of(set).odd_quotients(pairs.with_lows(), divisor,
                                                 {odd.data(), count, unsettled.data()});
      unsettled.resize(std::size_t(listed));
      EXPECT_TRUE(divisor != 1 || listed == 0);
      for (std::int64_t i = 0; i < count; ++i) {
        if (std::find(unsettled.begin(), unsettled.end(), i) != unsettled.end()) continue;
        auto place = std::size_t(i);
        DigitSums digits(1, DigitRange::whole());
        digits.add(0, pairs.high[place]);
        digits.add(0, pairs.low[place]);
        double rounded = digits.take().over(std::int64_t(divisor)).rounded(0, DType::float32);
        EXPECT_EQ(static_cast<float>(odd[place]), static_cast<float>(rounded))
            << divisor << " " << i;
      }
    }
}

}  // namespace
}  // namespace simmesh
