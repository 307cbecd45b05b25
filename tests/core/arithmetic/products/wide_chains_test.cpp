#include "core/arithmetic/products/wide_chains.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/kernels/instruction_set.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

// If this fails, a rounding test passes elements that are wrong.
TEST(WideChains, SumsAreWithinTheirBounds) {
  constexpr std::int64_t rows = 23, columns = 21, depth = 700;
  std::mt19937_64 random(5);
  for (TermKind kind : {TermKind::near, TermKind::wide, TermKind::whole_range, TermKind::subnormal})
    for (InstructionSet set : available_instruction_sets()) {
      std::vector<double> a = random_terms(DType::float32, kind, rows * depth, random);
      std::vector<double> b = random_terms(DType::float32, kind, depth * columns, random);
      Tensor left = tensor_of_terms({rows, depth}, DType::float32, a);
      Tensor right = tensor_of_terms({depth, columns}, DType::float32, b);
      Product product{.rows = rows,
                      .columns = columns,
                      .depth = depth,
                      .a = {left.data(), DType::float32, depth, 1},
                      .b = {right.data(), DType::float32, columns, 1}};
      WideChains chains(product, kernels_of(set));
      std::int64_t seen = 0;
      chains.run([&](const WideBlock& block) {
        for (std::int64_t i = 0; i < block.rows; ++i)
          for (std::int64_t j = 0; j < block.columns; ++j, ++seen) {
            double sum =
                block
                    .sums[j / block.width * block.panel_stride + i * block.width + j % block.width];
            double bound =
                chains.row_bounds()[block.row + i] * chains.column_bounds()[block.column + j];
            ExactOracle off;
            for (std::int64_t k = 0; k < depth; ++k)
              off.add_product(a[std::size_t((block.row + i) * depth + k)],
                              b[std::size_t(k * columns + block.column + j)]);
            off.add(-sum);
            EXPECT_LE(std::fabs(off.rounded(DType::float64)), bound) << i << ", " << j;
          }
      });
      EXPECT_EQ(seen, rows * columns);
    }
}

}  // namespace
}  // namespace simmesh
