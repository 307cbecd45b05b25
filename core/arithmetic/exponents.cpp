#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include <simmesh/core/arithmetic/exponents.h>
#include <simmesh/core/arithmetic/non_finite_terms.h>
#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/check/error.h>

namespace simmesh {

namespace {

template <class T>
struct BitsOf {
  using Type = std::uint16_t;
};
template <>
struct BitsOf<float> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using Type = std::uint64_t;
};

// Signed compares are what vector units have.
template <class T>
constexpr auto infinity_bits() {
  using Bits = std::make_signed_t<typename BitsOf<T>::Type>;
  if constexpr (std::is_same_v<T, double>) return Bits(0x7FF0000000000000);
  if constexpr (std::is_same_v<T, float>) return Bits(0x7F800000);
  if constexpr (std::is_same_v<T, BFloat16>) return Bits(0x7F80);
  if constexpr (std::is_same_v<T, Half>) return Bits(0x7C00);
}

template <class Bits>
Bits magnitude(Bits bits) {
  return Bits(bits & std::numeric_limits<Bits>::max());
}

// The least e with |x| < 2^e, of the bits of a finite |x|.
template <class T>
std::int32_t exponent_of(std::uint64_t bits) {
  if (bits == 0) return exponent_of_zeros;
  constexpr int mantissa = std::is_same_v<T, double>  ? 52
                           : std::is_same_v<T, float> ? 23
                           : std::is_same_v<T, Half>  ? 10
                                                      : 7;
  constexpr int bias = std::is_same_v<T, double> ? 1023 : std::is_same_v<T, Half> ? 15 : 127;
  auto field = std::int32_t(bits >> mantissa);
  if (field > 0) return field - bias + 1;
  return std::int32_t(std::bit_width(bits)) - mantissa - bias + 1;
}

// The bits of the largest magnitude of each row.
template <class T, class Bits>
std::vector<Bits> largest_of(const ProductOperand& operand, const MatrixSize& size,
                             const Kernels& kernels) {
  std::vector<Bits> largest(std::size_t(size.rows), 0);
  if constexpr (std::is_same_v<T, float>) {
    kernels.magnitudes_float({.data = reinterpret_cast<const float*>(operand.data),
                              .line_stride = operand.row_stride,
                              .depth_stride = operand.column_stride,
                              .line_count = size.rows,
                              .depth = size.columns},
                             largest.data());
  } else {
    const Bits* data = reinterpret_cast<const Bits*>(operand.data);
    if (operand.row_stride == 1)
      for (std::int64_t k = 0; k < size.columns; ++k)
        for (std::size_t r = 0; r < largest.size(); ++r)
          largest[r] =
              std::max(largest[r], magnitude(data[std::int64_t(r) + k * operand.column_stride]));
    else
      for (Bits& row : largest) {
        Bits found = 0;
        for (std::int64_t k = 0; k < size.columns; ++k)
          found = std::max(found, magnitude(data[k * operand.column_stride]));
        row = found;
        data += operand.row_stride;
      }
  }
  return largest;
}

template <class T>
LineExponents scan(const ProductOperand& operand, const MatrixSize& size, const Kernels& kernels) {
  using Bits = std::make_signed_t<typename BitsOf<T>::Type>;
  constexpr Bits infinity = infinity_bits<T>();
  std::vector<Bits> largest = largest_of<T, Bits>(operand, size, kernels);
  LineExponents result;
  for (std::size_t r = 0; r < largest.size(); ++r) {
    Bits finite = largest[r];
    if (finite >= infinity) [[unlikely]] {
      result.not_finite.resize(largest.size(), 0);
      result.not_finite[r] = 1;
      const Bits* line =
          reinterpret_cast<const Bits*>(operand.data) + std::int64_t(r) * operand.row_stride;
      finite = 0;
      for (std::int64_t k = 0; k < size.columns; ++k) {
        Bits bits = magnitude(line[k * operand.column_stride]);
        if (bits < infinity) finite = std::max(finite, bits);
      }
    }
    result.exponents.push_back(exponent_of<T>(std::uint64_t(finite)));
  }
  return result;
}

double element(const ProductOperand& operand, std::int64_t row, std::int64_t column) {
  return visit_dtype(operand.dtype, [&]<class T>(T) {
    T x = reinterpret_cast<const T*>(
        operand.data)[row * operand.row_stride + column * operand.column_stride];
    if constexpr (std::is_integral_v<T>)
      return double(x);
    else
      return widened(x);
  });
}

}  // namespace

LineExponents line_exponents(const ProductOperand& operand, const MatrixSize& size,
                             const Kernels& kernels) {
  switch (operand.dtype) {
    case DType::float64: return scan<double>(operand, size, kernels);
    case DType::float32: return scan<float>(operand, size, kernels);
    case DType::bfloat16: return scan<BFloat16>(operand, size, kernels);
    case DType::float16: return scan<Half>(operand, size, kernels);
    default:
      raise(ErrorKind::type_error, "arithmetic/product", "expected a floating operand, got {}",
            to_string(operand.dtype));
  }
}

void non_finite_elements(const Product& p, const LineExponents& rows, const LineExponents& columns,
                         const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& f) {
  if (rows.not_finite.empty() && columns.not_finite.empty()) return;
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j) {
      if (rows.is_finite(i) && columns.is_finite(j)) continue;
      std::int64_t count = 0;
      for (std::int64_t k = 0; k < p.depth; ++k) {
        double a = element(p.a, i, k), b = element(p.b, k, j);
        if (a - a != 0 || b - b != 0)
          count = NonFiniteTerms::merged(count, NonFiniteTerms::of(a * b));
      }
      if (count != 0) f(i, j, count);
    }
}

}  // namespace simmesh
