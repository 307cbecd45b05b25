#include <cmath>

#include <simmesh/core/arithmetic/carried_product.h>
#include <simmesh/core/arithmetic/digit_sums.h>
#include <simmesh/core/arithmetic/rounding.h>

namespace simmesh {

namespace {

double carried_factor(const ProductOperand& operand, std::int64_t row, std::int64_t column) {
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

CarriedSums carried_product(const Product& p, InstructionSet) {
  DigitSums sums(p.rows * p.columns, DigitRange::whole());
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j)
      for (std::int64_t k = 0; k < p.depth; ++k)
        sums.add_product(i * p.columns + j, carried_factor(p.a, i, k), carried_factor(p.b, k, j));
  return sums.take();
}

CarriedSums carried_sum(const SumRequest& r, InstructionSet) {
  DigitSums sums(r.outer * r.inner, DigitRange::whole());
  visit_dtype(r.dtype, [&]<class S>(S) {
    if constexpr (!std::is_integral_v<S>) {
      const S* x = reinterpret_cast<const S*>(r.data);
      for (std::int64_t o = 0; o < r.outer; ++o)
        for (std::int64_t i = 0; i < r.count; ++i)
          for (std::int64_t j = 0; j < r.inner; ++j, ++x) {
            std::int64_t at = o * r.inner + j;
            double term = widened(*x);
            switch (r.term) {
              case SumTerm::identity: sums.add(at, term); break;
              case SumTerm::absolute: sums.add(at, std::fabs(term)); break;
              case SumTerm::square: sums.add_product(at, term, term); break;
              case SumTerm::squared_deviation: {
                double deviation = term - r.means[std::size_t(at)];
                sums.add(at, deviation * deviation);
                break;
              }
            }
          }
    }
  });
  return sums.take();
}

}  // namespace simmesh
