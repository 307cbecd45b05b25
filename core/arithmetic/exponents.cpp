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
void take(Bits bits, Bits infinity, Bits& finite, Bits& any) {
  Bits magnitude = Bits(bits & std::numeric_limits<Bits>::max());
  any = std::max(any, magnitude);
  finite = std::max(finite, magnitude < infinity ? magnitude : Bits(0));
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

template <class T>
LineExponents scan(const ProductOperand& operand, const MatrixSize& size) {
  using Bits = std::make_signed_t<typename BitsOf<T>::Type>;
  constexpr Bits infinity = infinity_bits<T>();
  const Bits* data = reinterpret_cast<const Bits*>(operand.data);
  std::vector<Bits> finite(std::size_t(size.rows), 0), any(std::size_t(size.rows), 0);
  if (operand.row_stride == 1 && operand.column_stride != 1) {
    for (std::int64_t k = 0; k < size.columns; ++k) {
      const Bits* line = data + k * operand.column_stride;
      for (std::size_t r = 0; r < finite.size(); ++r) take(line[r], infinity, finite[r], any[r]);
    }
  } else {
    for (std::size_t r = 0; r < finite.size(); ++r) {
      const Bits* line = data + std::int64_t(r) * operand.row_stride;
      Bits finite_max = 0, any_max = 0;
      if (operand.column_stride == 1)
        for (std::int64_t k = 0; k < size.columns; ++k)
          take(line[k], infinity, finite_max, any_max);
      else
        for (std::int64_t k = 0; k < size.columns; ++k)
          take(line[k * operand.column_stride], infinity, finite_max, any_max);
      finite[r] = finite_max;
      any[r] = any_max;
    }
  }
  LineExponents result;
  for (Bits bits : finite) result.exponents.push_back(exponent_of<T>(std::uint64_t(bits)));
  for (std::size_t r = 0; r < any.size(); ++r)
    if (any[r] >= infinity) {
      result.not_finite.resize(any.size(), 0);
      result.not_finite[r] = 1;
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

LineExponents line_exponents(const ProductOperand& operand, const MatrixSize& size) {
  switch (operand.dtype) {
    case DType::float64: return scan<double>(operand, size);
    case DType::float32: return scan<float>(operand, size);
    case DType::bfloat16: return scan<BFloat16>(operand, size);
    case DType::float16: return scan<Half>(operand, size);
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

std::vector<std::int32_t> row_exponents(const ProductOperand& operand, const MatrixSize& size) {
  return line_exponents(operand, size).exponents;
}

std::vector<std::int32_t> operand_exponents(const Tensor& matrix, std::int64_t dim) {
  if (matrix.dim() != 2 || dim < 0 || dim > 1)
    raise(ErrorKind::value_error, "arithmetic/product",
          "expected a matrix and dim 0 or 1, got {} and dim {}", to_string(matrix.shape()), dim);
  std::size_t other = dim == 0 ? 1 : 0;
  return row_exponents(
      {matrix.data(), matrix.dtype(), matrix.strides()[std::size_t(dim)], matrix.strides()[other]},
      {matrix.size(dim), matrix.size(std::int64_t(other))});
}

}  // namespace simmesh
