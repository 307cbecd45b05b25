#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <simmesh/core/arithmetic/combine.h>
#include <simmesh/core/arithmetic/exact_order.h>
#include <simmesh/core/arithmetic/rank_order.h>
#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/check/int128.h>

namespace simmesh {

namespace {

using Wide = Int128;

// A term of at most 2^order_term_bits steps; 2^(total - order_term_bits) of them fit. 64-bit
// accumulators for products of 24-bit mantissas, 128-bit ones for float64.
template <class T>
constexpr int order_term_bits = std::is_same_v<T, double> ? 114 : 51;
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, Wide, std::int64_t>;

template <class T>
int scale_of(const Reduction& reduction, const std::vector<T>& factor) {
  double largest = 0;
  for (const std::byte* operand : reduction.operands) {
    auto* x = reinterpret_cast<const T*>(operand);
    for (std::int64_t i = 0; i < reduction.count; ++i) {
      double magnitude = std::fabs(widened(factor.empty() ? x[i] : T(x[i] * factor[0])));
      if (std::isfinite(magnitude) && magnitude > largest) largest = magnitude;
    }
  }
  if (largest == 0) return 0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  int spare = 62 - 51;
  int needed = int(std::bit_width(reduction.operands.size()));
  return order_term_bits<T> - exponent - (needed > spare ? needed - spare : 0);
}

// Rounds x * 2^scale to the nearest integer, ties to even.
template <class T>
Accumulator<T> on_grid(double x, int scale) {
  if constexpr (std::is_same_v<T, double>) {
    int exponent = 0;
    double mantissa = std::frexp(x, &exponent);
    int integer_bits = exponent + scale;
    if (integer_bits > 53) return Wide(std::ldexp(mantissa, 53)) * (Wide(1) << (integer_bits - 53));
    return Wide(std::nearbyint(std::ldexp(mantissa, std::max(integer_bits, -2))));
  } else {
    return std::int64_t(std::nearbyint(std::ldexp(x, scale)));
  }
}

// Rounds sum * 2^-scale to T, once. A wide sum keeps its 63 highest bits, the last of them sticky,
// before it does.
template <class T>
T off_grid(Accumulator<T> sum, int scale) {
  if constexpr (!std::is_same_v<T, double>) {
    return rounded_to<T>(std::ldexp(odd_double(sum), -scale));
  } else {
    int shift = 0;
    Wide kept = sum;
    while (kept > std::numeric_limits<std::int64_t>::max() ||
           kept < std::numeric_limits<std::int64_t>::min()) {
      kept = (kept >> 1) | (kept & 1);
      ++shift;
    }
    return std::ldexp(double(std::int64_t(kept)), shift - scale);
  }
}

template <class T>
void reduce_exactly(const Reduction& reduction) {
  std::vector<T> factor;
  if (reduction.op == ReduceOp::premul_sum) factor.push_back(rounded_to<T>(reduction.factor));
  int scale = scale_of<T>(reduction, factor);
  auto* result = reinterpret_cast<T*>(reduction.result);
  for (std::int64_t i = 0; i < reduction.count; ++i) {
    Accumulator<T> sum = 0;
    double special = 0;
    for (const std::byte* operand : reduction.operands) {
      T x = reinterpret_cast<const T*>(operand)[i];
      double term = widened(factor.empty() ? x : T(x * factor[0]));
      if (std::isfinite(term))
        sum += on_grid<T>(term, scale);
      else
        special += term;
    }
    // Sign and payload of a NaN would tell the order of the operands, so there is one NaN.
    if (std::isnan(special)) special = std::numeric_limits<double>::quiet_NaN();
    result[i] = special != 0 ? rounded_to<T>(special) : off_grid<T>(sum, scale);
  }
  if (reduction.op == ReduceOp::avg)
    divide(reduction.result, double(reduction.operands.size()), reduction.dtype, reduction.count);
  if (reduction.hash)
    reduction.hash->update({reduction.result, std::size_t(reduction.count) * sizeof(T)});
}

}  // namespace

void ExactOrder::reduce(const Reduction& reduction) const {
  bool adds = reduction.op == ReduceOp::sum || reduction.op == ReduceOp::avg ||
              reduction.op == ReduceOp::premul_sum;
  if (!adds || !is_floating_point(reduction.dtype)) return RankOrder().reduce(reduction);
  visit_dtype(reduction.dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) reduce_exactly<T>(reduction);
  });
}

}  // namespace simmesh
