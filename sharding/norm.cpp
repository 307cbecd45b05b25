#include "sharding/norm.h"

#include <cmath>

#include "core/arithmetic/rounding.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

// How often a value is squared for the p-th power; -1 where nothing is to be done.
int squarings_of(double p) {
  if (p == 0 || std::isinf(p) || p == 1) return -1;
  if (p == 2) return 1;
  if (p == 4) return 2;
  if (p == 8) return 3;
  raise(ErrorKind::value_error, "sharding/norm", "expected p = 0, 1, 2, 4, 8 or infinity, got {}",
        p);
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

}  // namespace

Tensor norm_to_sum(const Tensor& norm, double p) {
  int squarings = squarings_of(p);
  if (squarings < 0) return norm;
  return mapped(norm, [=](auto x) {
    for (int i = 0; i < squarings; ++i) x = x * x;
    return x;
  });
}

Tensor sum_to_norm(const Tensor& sum, double p) {
  int roots = squarings_of(p);
  if (roots < 0) return sum;
  return mapped(sum, [=]<class T>(T x) {
    for (int i = 0; i < roots; ++i) x = rounded_to<T>(std::sqrt(widened(x)));
    return x;
  });
}

}  // namespace simmesh
