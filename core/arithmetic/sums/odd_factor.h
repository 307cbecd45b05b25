#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace simmesh {

// OddFactor is a finite double as odd * 2^exponent; both are 0 for a zero.
struct OddFactor {
  std::int64_t odd = 0;
  int exponent = 0;

  static OddFactor of(double factor) {
    int exponent = 0;
    auto mantissa = std::int64_t(std::ldexp(std::frexp(factor, &exponent), 53));
    if (mantissa == 0) return {};
    int zeros = std::countr_zero(std::uint64_t(mantissa));
    return {mantissa >> zeros, exponent - 53 + zeros};
  }
};

}  // namespace simmesh
