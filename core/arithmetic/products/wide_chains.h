#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/arithmetic/products/product_request.h"
#include "core/arithmetic/sums/scratch.h"
#include "core/kernels/kernels.h"

namespace simmesh {

// WideBlock is a block of a product whose elements were added up in double: sum (i, j) of the block
// is sums[j / width * panel_stride + i * width + j % width]. Up to whole panels there is more room.
struct WideBlock {
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0, columns = 0;
  const double* sums = nullptr;
  std::int64_t width = 0;
  std::int64_t panel_stride = 0;
};

// WideChains computes a product of float32, bfloat16 and float16 operands in double, where their
// products are exact: each element is the sum of chains of fused multiply-adds over 256 terms,
// which are added one after the other. With the 2-norms |a_i| and |b_j| of row and column the error
// is at most error_factor() * |a_i| * |b_j|; there is none where all partial sums are doubles.
// Terms that aren't finite leave an infinity or a NaN.
class WideChains {
 public:
  // The product must outlive this object.
  WideChains(const Product& product, const Kernels& kernels);

  // run calls f(block) for each block of the result.
  void run(const std::function<void(const WideBlock&)>& f);

  // row_bounds and column_bounds return the factors of the error bounds, padded to whole panels.
  // While f runs, the factors of the block's rows and columns are valid.
  const double* row_bounds() const { return row_bounds_.data(); }
  const double* column_bounds() const { return column_bounds_.data(); }

 private:
  void stretch(const WideBlock& block, std::int64_t k, std::int64_t depth);
  void pack_a(const WideBlock& block, std::int64_t k, std::int64_t depth);
  void bound_rows(const WideBlock& block);

  const Product& product_;
  const Kernels& kernels_;
  TileSize tile_;
  std::int64_t width_;
  bool packs_b_;
  Scratch scratch_;
  float *panel_, *packed_b_;
  double *packed_a_, *sums_;
  std::vector<double> row_bounds_, column_bounds_;
};

}  // namespace simmesh
