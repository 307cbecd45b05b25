#pragma once

#include <cstdint>
#include <type_traits>

#include <simmesh/core/tensor/dtype.h>

namespace simmesh {

// widened returns a floating element as a double, exactly.
template <class T>
double widened(T x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return double(static_cast<float>(x));
}

// odd_double converts k to double, rounded to odd: of the two neighbours of an inexact value the
// one whose last bit is set. A further rounding to at most 40 bits then gives what rounding k once
// gives.
inline double odd_double(std::int64_t k) {
  constexpr int dropped_bits = 11;
  constexpr std::int64_t exact_max = std::int64_t(1) << 52;
  if (-exact_max <= k && k <= exact_max) return double(k);
  std::int64_t kept = k >> dropped_bits << dropped_bits;
  return double(kept == k ? k : kept | (std::int64_t(1) << dropped_bits));
}

}  // namespace simmesh
