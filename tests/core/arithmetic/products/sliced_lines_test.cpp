#include "core/arithmetic/products/sliced_lines.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/kernels/instruction_set.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

// If this fails, slices lose bits of an element or take on more than they may.
TEST(SlicedLines, SlicesAddUpToTheElements) {
  constexpr std::int64_t rows = 9, depth = 11, width = 4;
  std::mt19937_64 random(61);
  const Kernels& kernels = kernels_of(best_instruction_set());
  for (DType dtype : {DType::float64, DType::float32, DType::float16})
    for (TermKind kind : {TermKind::near, TermKind::wide, TermKind::ties, TermKind::subnormal})
      for (int bits : {20, 51})
        for (bool shares_lowest : {false, true}) {
          std::vector<double> x = random_terms(dtype, kind, rows * depth, random);
          Tensor data = tensor_of_terms({rows, depth}, dtype, x);
          SlicedLines lines({data.data(), dtype, depth, 1}, {rows, depth},
                            {width, width, shares_lowest}, kernels);
          lines.cut(bits);
          EXPECT_TRUE(lines.long_lines().empty());
          EXPECT_LE(lines.span(bits), lines.all().span());
          std::vector<double> packed(std::size_t(lines.packed_size() * SlicedLines::slices_max));
          for (std::int64_t p = 0; p < lines.panels(); ++p) {
            lines.pack(p, 0, kernels, packed.data());
            for (std::int64_t l = 0; l < lines.lines_of(p); ++l)
              for (std::int64_t k = 0; k < depth; ++k) {
                ExactOracle difference;
                std::int64_t line = p * width + l;
                difference.add(-x[std::size_t(line * depth + k)]);
                for (int s = 0; s < lines.slices(p); ++s) {
                  double slice = packed[std::size_t(s * lines.packed_size() + k * width + l)];
                  EXPECT_LT(std::fabs(slice), std::ldexp(1.0, bits));
                  EXPECT_EQ(slice, std::nearbyint(slice));
                  difference.add(std::ldexp(slice, lines.lowest(line) + s * bits));
                }
                ASSERT_EQ(difference.rounded(DType::float64), 0) << to_string(dtype) << bits;
              }
          }
        }
}

// If this fails, a line that can't be cut into slices is.
TEST(SlicedLines, LongLinesAreLeftOut) {
  Tensor data = tensor_of<float>({3, 2}, {1, 2, HUGE_VALF, 1, 0x1p-140f, 0x1p120f});
  SlicedLines lines({data.data(), DType::float32, 2, 1}, {3, 2}, {4, 4, true},
                    kernels_of(best_instruction_set()));
  lines.cut(20);
  EXPECT_EQ(lines.long_lines(), (std::vector<std::int64_t>{1, 2}));
}

}  // namespace
}  // namespace simmesh
