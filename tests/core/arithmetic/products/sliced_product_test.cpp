#include "core/arithmetic/products/sliced_product.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/kernels/instruction_set.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

// If this fails, lines of few and of many bits, of zeros and of infinities, can't be in one
// product.
TEST(SlicedProduct, TakesLinesOfAllKindsTogether) {
  constexpr std::int64_t rows = 30, columns = 37, depth = 20;
  std::mt19937_64 random(71);
  std::vector<double> a, b(std::size_t(depth * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    TermKind kind = term_kinds[std::size_t(i) % std::size(term_kinds)];
    std::vector<double> row = random_terms(DType::float32, kind, depth, random);
    if (i % 10 == 9) std::fill(row.begin(), row.end(), 0.0);
    a.insert(a.end(), row.begin(), row.end());
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    TermKind kind = term_kinds[std::size_t(j / 2) % std::size(term_kinds)];
    std::vector<double> column = random_terms(DType::float32, kind, depth, random);
    for (std::int64_t k = 0; k < depth; ++k)
      b[std::size_t(k * columns + j)] = j % 16 < 3 ? 0 : column[std::size_t(k)];
  }
  Tensor left = tensor_of_terms({rows, depth}, DType::float32, a);
  Tensor right = tensor_of_terms({depth, columns}, DType::float32, b);
  Product product{.rows = rows,
                  .columns = columns,
                  .depth = depth,
                  .a = {left.data(), DType::float32, depth, 1},
                  .b = {right.data(), DType::float32, columns, 1}};
  for (InstructionSet set : available_instruction_sets())
    for (SliceFactors factors : {SliceFactors::floats, SliceFactors::integers}) {
      const Kernels& kernels = kernels_of(set);
      if (factors == SliceFactors::integers && !can_multiply_integers(kernels)) continue;
      CarriedSums sums = SlicedProduct(product, kernels, factors).run();
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          ExactOracle oracle;
          for (std::int64_t k = 0; k < depth; ++k)
            oracle.add_product(a[std::size_t(i * depth + k)], b[std::size_t(k * columns + j)]);
          ASSERT_PRED2(same_double, sums.rounded(i * columns + j, DType::float32),
                       oracle.rounded(DType::float32))
              << to_string(set) << " at " << i << ", " << j;
        }
    }
}

}  // namespace
}  // namespace simmesh
