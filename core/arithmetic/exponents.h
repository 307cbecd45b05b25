#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <simmesh/core/arithmetic/product.h>
#include <simmesh/core/kernels/kernels.h>

namespace simmesh {

// exponent_of_zeros is the exponent of a row without a finite element other than zero.
inline constexpr std::int32_t exponent_of_zeros = -(1 << 20);

// LineExponents is what one pass over an operand finds of each of its rows: the least e with |x| <
// 2^e for all its finite elements.
struct LineExponents {
  std::vector<std::int32_t> exponents;
  std::vector<std::uint8_t>
      not_finite;  // 1 for a row with an infinity or NaN; empty where none has

  bool is_finite(std::int64_t line) const {
    return not_finite.empty() || not_finite[std::size_t(line)] == 0;
  }
};

// line_exponents reads all of a floating operand.
LineExponents line_exponents(const ProductOperand& operand, const MatrixSize& size,
                             const Kernels& kernels);

// non_finite_elements calls f(row, column, count) for each element of a product that has terms
// which aren't finite, with their NonFiniteTerms.
void non_finite_elements(const Product& product, const LineExponents& rows,
                         const LineExponents& columns,
                         const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& f);

}  // namespace simmesh
