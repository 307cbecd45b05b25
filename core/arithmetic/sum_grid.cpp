#include <bit>
#include <cmath>

#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/arithmetic/sum_grid.h>
#include <simmesh/core/check/error.h>

namespace simmesh {

namespace {

constexpr int term_bits_max = 51;
constexpr std::int64_t full_scale_terms_max = 4095;

}  // namespace

// |x| < 2^e gives |x| * 2^(bits - e) < 2^bits. The scale is kept within what ldexp of a double can
// undo.
SumGrid SumGrid::of(const Bound& bound) {
  if (!std::isfinite(bound.magnitude_max) || bound.terms < 1)
    raise(ErrorKind::value_error, "arithmetic/sum_grid",
          "expected a finite magnitude and at least one term, got {} and {}", bound.magnitude_max,
          bound.terms);
  if (bound.magnitude_max == 0) return SumGrid(0, 0);
  int exponent = 0;
  std::frexp(bound.magnitude_max, &exponent);
  int bits = term_bits_max;
  if (bound.terms > full_scale_terms_max)
    bits -= int(std::bit_width(std::uint64_t(bound.terms))) - 12;
  return SumGrid(bits - exponent, std::ldexp(1.0, bits));
}

Tensor SumGrid::to_accumulators(const Tensor& values) const {
  Tensor rows = values.contiguous();
  Tensor result = empty(rows.shape(), DType::int64);
  auto out = result.mutable_values<std::int64_t>();
  visit_dtype(rows.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
      raise(ErrorKind::type_error, "arithmetic/sum_grid",
            "expected float32, float16 or bfloat16 values, got {}", to_string(rows.dtype()));
    } else {
      std::size_t i = 0;
      for (T x : rows.values<T>()) {
        double steps = std::ldexp(widened(x), scale_);
        if (!(std::fabs(steps) <= steps_max_))
          raise(ErrorKind::value_error, "arithmetic/sum_grid",
                "expected terms within the grid's bound of {}, got {} at element {}",
                std::ldexp(steps_max_, -scale_), widened(x), i);
        out[i++] = std::int64_t(std::nearbyint(steps));
      }
    }
  });
  return result;
}

Tensor SumGrid::to_values(const Tensor& accumulators, DType dtype) const {
  Tensor rows = accumulators.contiguous();
  Tensor result = empty(rows.shape(), dtype);
  visit_dtype(dtype, [&]<class T>(T) {
    auto out = result.mutable_values<T>();
    std::size_t i = 0;
    for (std::int64_t k : rows.values<std::int64_t>()) {
      double steps = dtype == DType::float64 ? double(k) : odd_double(k);
      out[i++] = rounded_to<T>(std::ldexp(steps, -scale_));
    }
  });
  return result;
}

double SumGrid::magnitude_max(const Tensor& values) {
  double largest = 0;
  Tensor rows = values.contiguous();
  visit_dtype(rows.dtype(), [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>)
      for (T x : rows.values<T>()) {
        double magnitude = std::fabs(widened(x));
        if (std::isfinite(magnitude) && magnitude > largest) largest = magnitude;
      }
  });
  return largest;
}

}  // namespace simmesh
