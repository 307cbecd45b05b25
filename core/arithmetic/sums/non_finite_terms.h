#pragma once

#include <bit>
#include <cstdint>

namespace simmesh {

// NonFiniteTerms counts the infinities and NaNs among the terms of one sum in an int64, so that
// counts of partial sums can be added as integers in any order, as the sums are. A part counts each
// kind once at most; counts of up to 2^21 - 1 parts can be added.
struct NonFiniteTerms {
  static constexpr int bits_per_kind = 21;
  static constexpr std::int64_t nan = 1;
  static constexpr std::int64_t plus_infinity = std::int64_t(1) << bits_per_kind;
  static constexpr std::int64_t minus_infinity = std::int64_t(1) << 2 * bits_per_kind;

  // of returns the count of one term: 0 for a finite one.
  static constexpr std::int64_t of(double term) {
    if (term != term) return nan;
    if (term - term == 0) return 0;
    return term > 0 ? plus_infinity : minus_infinity;
  }

  // merged returns the kinds that a or b has, each once.
  static constexpr std::int64_t merged(std::int64_t a, std::int64_t b) { return once(a) | once(b); }

  // once returns the kinds in a sum of counts, each once.
  static constexpr std::int64_t once(std::int64_t count) {
    return (has(count, 0) ? nan : 0) | (has(count, 1) ? plus_infinity : 0) |
           (has(count, 2) ? minus_infinity : 0);
  }

  // value returns what IEEE addition of such terms gives in any order: NaN for a NaN or for both
  // infinities, else the infinity. The count is not 0.
  static constexpr double value(std::int64_t count) {
    bool plus = has(count, 1), minus = has(count, 2);
    if (has(count, 0) || plus == minus) return std::bit_cast<double>(0x7FF8000000000000u);
    return std::bit_cast<double>(plus ? 0x7FF0000000000000u : 0xFFF0000000000000u);
  }

 private:
  static constexpr bool has(std::int64_t count, int kind) {
    return ((count >> kind * bits_per_kind) & (plus_infinity - 1)) != 0;
  }
};

}  // namespace simmesh
