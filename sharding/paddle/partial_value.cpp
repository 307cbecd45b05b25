#include "sharding/paddle/partial_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check/error.h"

namespace simmesh::paddle {

namespace {

// Returns the lowest or highest value of an integer or bool dtype.
Tensor extreme_integers(DimSpan shape, DType dtype, bool is_lowest) {
  Tensor result = zeros(shape, dtype);
  if (!result.has_elements()) return result;
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      T value = is_lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      auto values = result.mutable_values<T>();
      std::fill(values.begin(), values.end(), value);
    }
  });
  return result;
}

}  // namespace

Tensor neutral_tensor(DimSpan shape, DType dtype, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::bor: return zeros(shape, dtype);
    case ReduceOp::product: return full(shape, dtype, 1.0);
    case ReduceOp::max:
    case ReduceOp::min: {
      bool is_lowest = op == ReduceOp::max;
      if (!is_floating_point(dtype)) return extreme_integers(shape, dtype, is_lowest);
      return full(shape, dtype, is_lowest ? -HUGE_VAL : HUGE_VAL);
    }
    case ReduceOp::band:
      if (dtype == DType::boolean) return full(shape, dtype, 1.0);
      break;
    default: break;
  }
  raise(ErrorKind::value_error, "sharding/paddle",
        "expected a reduction with a value that changes nothing, got {} of {}", to_string(op),
        to_string(dtype));
}

Tensor divided_integers(const Tensor& sums, std::int64_t divisor) {
  Tensor result = sums.contiguous().clone();
  if (!result.has_elements()) return result;
  visit_dtype(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for (T& value : result.mutable_values<T>())
        value = static_cast<T>(static_cast<std::int64_t>(value) / divisor);
  });
  return result;
}

Tensor partial_value(const Tensor& value, ReduceOp op, std::int64_t coordinate) {
  if (coordinate == 0 || op == ReduceOp::avg) return value.clone();
  return neutral_tensor(value.shape(), value.dtype(), op);
}

}  // namespace simmesh::paddle
