#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <vector>

#include "core/arithmetic/companions/exact_values.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {

using Rational = boost::multiprecision::cpp_rational;

// rational returns a finite double as a fraction.
inline Rational rational(double x) {
  int exponent = 0;
  auto mantissa = std::int64_t(std::ldexp(std::frexp(x, &exponent), 53));
  boost::multiprecision::cpp_int power = 1;
  power <<= std::abs(exponent - 53);
  return exponent >= 53 ? Rational(mantissa) * Rational(power)
                        : Rational(mantissa) / Rational(power);
}

// rational returns one value as a fraction: that under the root of a root.
inline Rational rational(const ExactValues& values, std::int64_t i) {
  CarriedSums sums = (values.is_root() ? values.square() : values).sums();
  boost::multiprecision::cpp_int numerator = 0, power = 1;
  for (int d = sums.digit_count() - 1; d >= 0; --d)
    numerator = numerator * (std::int64_t(1) << 32) + sums.digit(d)[i];
  power <<= 32 * std::abs(sums.low());
  Rational value = Rational(numerator) / sums.divisor();
  return sums.low() < 0 ? Rational(value / Rational(power)) : Rational(value * Rational(power));
}

// doubles_in describes doubles as an array.
inline ElementArray doubles_in(std::vector<double>& values) {
  return {reinterpret_cast<std::byte*>(values.data()),
          DType::float64,
          {std::int64_t(values.size())},
          {1}};
}

// doubles_of returns values rounded to float64.
inline std::vector<double> doubles_of(const ExactValues& values) {
  std::vector<double> result(std::size_t(values.count()));
  values.round_into(doubles_in(result));
  return result;
}

// small_numbers are doubles whose sums and products have all sorts of bits: all pairs and triples
// of them are tried.
inline const std::vector<double>& small_numbers() {
  static const std::vector<double> numbers = {
      0,      1,         -1,          3,         0.1,           -0x1.fffffffffffffp0, 0x1p53,
      0x1p60, -0x1p-60,  1.5e100,     -1.5e-100, 0x1p-1074,     0x1.8p-500,           1e16 + 2,
      -1e16,  0x1.5p200, 0x1p-53 + 1, 0x1p-106,  -0x1.0000001p0};
  return numbers;
}

}  // namespace simmesh
