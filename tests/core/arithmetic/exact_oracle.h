#pragma once

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/arithmetic/sums/rounding.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// ExactOracle is a sum of doubles and products of doubles as a long integer of another library:
// what exact arithmetic is compared with.
class ExactOracle {
 public:
  void add(double x) { add_product(x, 1); }

  void add_product(double a, double b) {
    double product = a * b;
    if (a - a != 0 || b - b != 0) {
      special_ = special_ + product;
      is_special_ = true;
      return;
    }
    int a_exponent = 0, b_exponent = 0;
    auto x = std::int64_t(std::ldexp(std::frexp(a, &a_exponent), 53));
    auto y = std::int64_t(std::ldexp(std::frexp(b, &b_exponent), 53));
    Integer term = Integer(x) * y;
    if (term != 0) sum_ += shifted(term, a_exponent + b_exponent - 106 + lowest);
  }

  // rounded returns the sum over the divisor, rounded once to the dtype, ties to even.
  double rounded(DType dtype, std::int64_t divisor = 1) const {
    if (is_special_)
      return std::isnan(special_) ? std::numeric_limits<double>::quiet_NaN() : special_;
    if (sum_ == 0) return 0;
    constexpr int spare = 200;
    Integer magnitude = abs(sum_) << spare;
    bool inexact = magnitude % divisor != 0;
    magnitude /= divisor;
    auto [precision, least] = format(dtype);
    int exponent = -lowest - spare;
    int top = int(msb(magnitude)) + 1 + exponent;
    int last = std::max(top - precision, least);
    int dropped = last - exponent;
    Integer kept = dropped > 0 ? Integer(magnitude >> dropped) : Integer(magnitude << -dropped);
    Integer rest = dropped > 0 ? Integer(magnitude - (kept << dropped)) : Integer(0);
    Integer half = dropped > 0 ? Integer(1) << (dropped - 1) : Integer(1);
    if (rest > half || (rest == half && (inexact || (kept & 1) != 0))) ++kept;
    double value = std::ldexp(kept.convert_to<double>(), last);
    if (value > largest(dtype)) value = std::numeric_limits<double>::infinity();
    return sum_ < 0 ? -value : value;
  }

 private:
  using Integer = boost::multiprecision::cpp_int;
  static constexpr int lowest = 2200;

  struct Format {
    int precision, least;
  };
  static Format format(DType dtype) {
    if (dtype == DType::float64) return {53, -1074};
    if (dtype == DType::float32) return {24, -149};
    return dtype == DType::bfloat16 ? Format{8, -133} : Format{11, -24};
  }
  static double largest(DType dtype) {
    if (dtype == DType::float64) return std::numeric_limits<double>::max();
    if (dtype == DType::float32) return std::numeric_limits<float>::max();
    return dtype == DType::bfloat16 ? 0x1.FEp127 : 65504.0;
  }
  // Shifts a multiple of 2^-shift where the shift is negative.
  static Integer shifted(const Integer& x, int shift) {
    if (shift >= 0) return x << shift;
    Integer magnitude = abs(x) >> -shift;
    return x < 0 ? Integer(-magnitude) : magnitude;
  }

  Integer sum_ = 0;
  double special_ = 0;
  bool is_special_ = false;
};

inline bool same_double(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// TermKind is the kind of terms that random_terms returns.
enum class TermKind { near, wide, whole_range, cancelling, ties, subnormal, special };
inline constexpr TermKind term_kinds[] = {
    TermKind::near, TermKind::wide,      TermKind::whole_range, TermKind::cancelling,
    TermKind::ties, TermKind::subnormal, TermKind::special};

// random_terms returns count values of a dtype, as doubles.
inline std::vector<double> random_terms(DType dtype, TermKind kind, std::size_t count,
                                        std::mt19937_64& random) {
  int lowest = dtype == DType::float64 ? -1074 : dtype == DType::float16 ? -24 : -149;
  int highest = dtype == DType::float64 ? 1023 : dtype == DType::float16 ? 15 : 127;
  int bits = dtype == DType::float64    ? 53
             : dtype == DType::float32  ? 24
             : dtype == DType::bfloat16 ? 8
                                        : 11;
  auto between = [&](int from, int to) {
    return from + int(random() % std::uint64_t(to - from + 1));
  };
  auto value = [&](int exponent, int mantissa_bits) {
    double mantissa = 1 + std::ldexp(double(random() >> (65 - mantissa_bits)), 1 - mantissa_bits);
    return std::ldexp((random() & 1) != 0 ? -mantissa : mantissa, exponent);
  };
  std::vector<double> terms(count);
  for (std::size_t i = 0; i < count; ++i) {
    double& x = terms[i];
    switch (kind) {
      case TermKind::near: x = value(between(-3, 3), bits); break;
      case TermKind::wide: x = value(between(-12, 12), bits); break;
      case TermKind::cancelling:
        x = i % 2 == 1 ? -terms[i - 1] : value(between(lowest, highest), bits);
        if (i + 1 == count) x = value(between(-10, 5), bits);
        break;
      case TermKind::ties: x = std::ldexp(double(between(-3, 3)), between(-bits, 0)); break;
      case TermKind::subnormal: x = std::ldexp(double(between(-9, 9)), lowest); break;
      case TermKind::special:
        if (between(0, 9) == 0) {
          const double infinity = std::numeric_limits<double>::infinity();
          const double list[] = {infinity, -infinity, std::nan(""), -0.0};
          x = list[between(0, 3)];
          break;
        }
        [[fallthrough]];
      case TermKind::whole_range: x = value(between(lowest, highest), bits); break;
    }
    x = visit_dtype(dtype, [&]<class T>(T) -> double {
      if constexpr (std::is_integral_v<T>)
        return x;
      else
        return widened(rounded_to<T>(x));
    });
  }
  return terms;
}

// tensor_of_terms stores values of a dtype in a tensor of a shape.
inline Tensor tensor_of_terms(const Dims& shape, DType dtype, const std::vector<double>& terms) {
  Tensor result = empty(shape, dtype);
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      auto values = result.mutable_values<T>();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = rounded_to<T>(terms[i]);
    }
  });
  return result;
}

// double_at returns an element of a floating tensor.
inline double double_at(const Tensor& tensor, std::size_t i) {
  return visit_dtype(tensor.dtype(), [&]<class T>(T) -> double {
    if constexpr (std::is_integral_v<T>)
      return double(tensor.values<T>()[i]);
    else
      return widened(tensor.values<T>()[i]);
  });
}

}  // namespace simmesh
