#include "core/arithmetic/products/exact_elements.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/arithmetic/sums/triple_sum.h"

namespace simmesh {

LineBits line_bits(gsl::span<const double> line) {
  constexpr int none = 1 << 20;
  LineBits result{.lowest = none, .highest = -none};
  for (double x : line) {
    if (x == 0) continue;
    if (x - x != 0) {
      result.is_finite = false;
      continue;
    }
    auto bits = std::bit_cast<std::uint64_t>(x);
    auto field = int(bits >> 52 & 0x7FF);
    std::uint64_t mantissa = bits & ((std::uint64_t(1) << 52) - 1);
    if (field > 0) mantissa |= std::uint64_t(1) << 52;
    int last = std::max(field, 1) - 1075;
    result.lowest = std::min(result.lowest, last + std::countr_zero(mantissa));
    result.highest = std::max(result.highest, last + int(std::bit_width(mantissa)));
  }
  if (result.lowest == none) result.lowest = result.highest = 0;
  return result;
}

void operand_line(const ProductOperand& operand, std::int64_t row, std::vector<double>& line) {
  visit_dtype(operand.dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      const T* x = reinterpret_cast<const T*>(operand.data) + row * operand.row_stride;
      for (double& element : line) {
        element = widened(*x);
        x += operand.column_stride;
      }
    }
  });
}

ExactElements::ExactElements(const Product& product)
    : product_(product), depth_bits_(int(std::bit_width(std::uint64_t(product.depth)))) {
  rows_.operand = product.a;
  columns_.operand = transposed(product.b);
  rows_.depth = columns_.depth = std::size_t(product.depth);
  rows_.count = std::size_t(product.rows);
  columns_.count = std::size_t(product.columns);
}

const double* ExactElements::Lines::at(std::int64_t index) {
  line.resize(depth);
  if (current != index) operand_line(operand, index, line);
  current = index;
  return line.data();
}

const LineBits& ExactElements::Lines::bits_of(std::int64_t index) {
  auto i = std::size_t(index);
  bits.resize(count);
  is_known.resize(count);
  if (!is_known[i]) {
    at(index);
    bits[i] = line_bits(line);
    is_known[i] = true;
  }
  return bits[i];
}

double ExactElements::rounded(std::int64_t i, std::int64_t j) {
  return exact_dot({rows_.at(i), 1}, {columns_.at(j), 1}, product_.depth, product_.result_dtype);
}

double ExactElements::rounded(std::int64_t i, std::int64_t j, double chain) {
  if (chain - chain != 0) return NonFiniteTerms::value(NonFiniteTerms::of(chain));
  constexpr int double_bits = 53;
  int span = rows_.bits_of(i).span() + columns_.bits_of(j).span();
  if (span + depth_bits_ > double_bits) return rounded(i, j);
  return rounded_pair(chain, 0, product_.result_dtype);
}

}  // namespace simmesh
