#include "core/arithmetic/sums/scaled_sums.h"

#include <cstdlib>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/arithmetic/sums/odd_factor.h"
#include "core/check/check.h"

namespace simmesh {

namespace {

constexpr std::int64_t divisor_max = std::int64_t(1) << 53;

}  // namespace

CarriedSums scaled(const CarriedSums& sums, double factor) {
  SIMMESH_CHECK(factor - factor == 0, "sums scaled by {}", factor);
  OddFactor by = OddFactor::of(factor);
  if (by.odd == 1 && by.exponent % 32 == 0) return sums.shifted(by.exponent / 32);
  int lowest = 32 * sums.low() + by.exponent, digits = sums.digit_count();
  DigitSums result(sums.count(), DigitRange::of_bits(lowest, lowest + 32 * digits + 54, 1));
  for (int d = 0; d < digits; ++d)
    for (std::int64_t i = 0; i < sums.count(); ++i)
      result.add_integer(i, Int128(sums.digit(d)[i]) * by.odd, lowest + 32 * d);
  gsl::span<const std::int64_t> counts = sums.non_finite();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0)
      result.add_non_finite(std::int64_t(i),
                            NonFiniteTerms::of(NonFiniteTerms::value(counts[i]) * factor));
  return result.take(sums.divisor());
}

bool can_be_divided(const CarriedSums& sums, double divisor) {
  if (divisor - divisor != 0) return false;
  std::int64_t odd = std::abs(OddFactor::of(divisor).odd);
  return odd != 0 && odd <= divisor_max / sums.divisor();
}

CarriedSums divided(const CarriedSums& sums, double divisor) {
  SIMMESH_CHECK(can_be_divided(sums, divisor), "sums over {} divided by {}", sums.divisor(),
                divisor);
  OddFactor by = OddFactor::of(divisor);
  CarriedSums result = scaled(sums, std::ldexp(by.odd < 0 ? -1.0 : 1.0, -by.exponent));
  return result.over(sums.divisor() * std::abs(by.odd));
}

CarriedSums over_one(const CarriedSums& sums, std::int64_t multiple) {
  std::int64_t factor = multiple / sums.divisor();
  return scaled(sums, double(factor)).over(1);
}

}  // namespace simmesh
