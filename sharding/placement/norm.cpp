#include "sharding/placement/norm.h"

#include <cmath>
#include <optional>

#include "core/arithmetic/functions.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

// Returns how often a value is squared for the p-th power; 0 where nothing is to be done.
std::optional<int> squarings_of(double p) {
  if (p == 0 || std::isinf(p) || p == 1) return 0;
  if (p == 2) return 1;
  if (p == 4) return 2;
  if (p == 8) return 3;
  return std::nullopt;
}

template <class F>
Tensor mapped(const Tensor& tensor, F f) {
  Tensor result = tensor.clone();
  visit_dtype(tensor.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      raise(ErrorKind::type_error, "sharding/norm", "expected a floating dtype, got {}",
            to_string(tensor.dtype()));
    else
      for (T& x : result.has_elements() ? result.mutable_values<T>() : gsl::span<T>()) x = f(x);
  });
  return result;
}

Tensor raised(const Tensor& tensor, double exponent) {
  return mapped(tensor,
                [=]<class T>(T x) { return rounded_to<T>(power(double(widened(x)), exponent)); });
}

}  // namespace

Tensor norm_to_sum(const Tensor& norm, double p) {
  std::optional<int> squarings = squarings_of(p);
  if (!squarings) return raised(norm, p);
  if (*squarings == 0) return norm;
  return mapped(norm, [=](auto x) {
    for (int i = 0; i < *squarings; ++i) x = x * x;
    return x;
  });
}

Tensor sum_to_norm(const Tensor& sum, double p) {
  std::optional<int> roots = squarings_of(p);
  if (!roots) return raised(sum, 1 / p);
  if (*roots == 0) return sum;
  return mapped(sum, [=]<class T>(T x) {
    for (int i = 0; i < *roots; ++i) x = rounded_to<T>(std::sqrt(widened(x)));
    return x;
  });
}

}  // namespace simmesh
