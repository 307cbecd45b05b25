#pragma once

#include <algorithm>
#include <cstdint>
#include <gsl/span>
#include <vector>

#include "core/arithmetic/companions/exact_pair.h"
#include "core/arithmetic/sums/carried_sums.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/leading_bits.h"
#include "core/kernels/kernels.h"

namespace simmesh {

// BitRange is the bits that doubles take up, those that are finite and not 0.
class BitRange {
 public:
  void add(double x);
  // digits returns the digits that sums of so many of the doubles need.
  DigitRange digits(std::int64_t terms) const;

 private:
  int lowest_ = 2000, highest_ = -2000;
};

// ExactContent is how ExactValues are kept: value i is (high[i] + low[i]) / divisor, or the square
// root of that. high[i] is the double that is nearest to the sum. The few values that two doubles
// can't hold are in digits instead. Which form a value has depends on the value alone.
//
// Infinities and NaNs are in `high`. A -0 there is an element's own; zeros that were computed are
// +0.
struct ExactContent {
  std::int64_t count = 0;
  std::vector<double> high;
  std::vector<double> low;                // empty where all are 0
  std::vector<std::int64_t> wide_places;  // ascending; high and low are 0 there
  CarriedSums wide;
  std::int64_t divisor = 1;
  bool is_root = false;

  // digits_at returns the numerators at some places as sums over 1.
  CarriedSums digits_at(gsl::span<const std::int64_t> places) const;
  // digits returns all numerators so.
  CarriedSums digits() const;
  // add_at adds the numerator at places[k] to sum k; range_at is the range that one such sum needs.
  void add_at(gsl::span<const std::int64_t> places, DigitSums& sums) const;
  DigitRange range_at(gsl::span<const std::int64_t> places) const;

  // settle sets the values at some places, ascending, to sums over 1. A value with more than 32
  // digits between its first and last one that isn't 0, or with digits that no product of two
  // doubles has, is rounded to float64 first. No other place may be wide.
  void settle(gsl::span<const std::int64_t> places, const CarriedSums& sums);

  // fill sets the values to count pairs f(i), and returns the places where these aren't exact.
  template <class F>
  std::vector<std::int64_t> fill(const F& f);
  // fill_blocks does so by f(begin, block), which writes a block of results from place `begin` on
  // and returns how many of them it lists (see PairBlock).
  template <class F>
  std::vector<std::int64_t> fill_blocks(const F& f);
  // fill_with sets the values to all sums over 1.
  void fill_with(const CarriedSums& sums);
  // drop_zero_lows empties `low` where all of it is 0.
  void drop_zero_lows();
};

// digits_of returns the digits of sum i.
inline SumDigits digits_of(const CarriedSums& sums, std::int64_t i) {
  return {sums.digit(0) + i, sums.count(), sums.digit_count(), sums.low(), sums.divisor()};
}

// pair_of returns the pair that is equal to sum i, a sum over 1 that is finite; one that isn't
// exact where there is none.
ExactPair pair_of(const CarriedSums& sums, std::int64_t i);

// joined_digits returns sums over 1, all finite, one array after the other.
CarriedSums joined_digits(gsl::span<const CarriedSums> parts);

template <class F>
std::vector<std::int64_t> ExactContent::fill(const F& f) {
  constexpr std::int64_t block = 256;
  high.resize(std::size_t(count));
  low.resize(std::size_t(count));
  std::vector<std::int64_t> inexact;
  double missed[block];
  for (std::int64_t begin = 0; begin < count; begin += block) {
    std::int64_t size = count - begin < block ? count - begin : block;
    double *highs = high.data() + begin, *lows = low.data() + begin;
    for (std::int64_t k = 0; k < size; ++k) {
      ExactPair pair = f(begin + k);
      highs[k] = pair.high;
      lows[k] = pair.low;
      missed[k] = pair.missed;
    }
    for (std::int64_t k = 0; k < size; ++k) {
      if (missed[k] == 0) continue;
      highs[k] = lows[k] = 0;
      inexact.push_back(begin + k);
    }
  }
  drop_zero_lows();
  return inexact;
}

template <class F>
std::vector<std::int64_t> ExactContent::fill_blocks(const F& f) {
  high.resize(std::size_t(count));
  low.resize(std::size_t(count));
  std::vector<std::int64_t> places;
  std::int32_t inexact[pair_block_size];
  bool has_lows = false;
  for (std::int64_t begin = 0; begin < count; begin += pair_block_size) {
    int listed = f(begin, PairBlock{.high = high.data() + begin,
                                    .low = low.data() + begin,
                                    .count = std::min(pair_block_size, count - begin),
                                    .inexact = inexact,
                                    .has_lows = &has_lows});
    for (int k = 0; k < listed; ++k) places.push_back(begin + inexact[k]);
  }
  if (!has_lows) low.clear();
  return places;
}

}  // namespace simmesh
