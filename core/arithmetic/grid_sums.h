#pragma once

#include <cstdint>
#include <gsl/span>
#include <memory>
#include <vector>

#include <simmesh/core/arithmetic/product.h>
#include <simmesh/core/kernels/kernels.h>

namespace simmesh {

// LineScales multiplies each row of a (column of b) by a power of two, as two factors that are
// normal doubles; second is empty where first suffices.
struct LineScales {
  std::vector<double> first, second;
};

// scales_of returns 2^(bits - exponents[i]), 0 for exponent_of_zeros; two factors where is_double.
LineScales scales_of(gsl::span<const std::int32_t> exponents, int bits, bool is_double);

// GridPlan says onto which limbs the terms of a product go.
struct GridPlan {
  GridTile kernel = nullptr;
  std::int64_t limbs = 1;
  double constants[3] = {0, 0, 0};  // see GridLimbs
  LineScales a_scales, b_scales;
};

// GridBlock is a block of a product and its limbs: element (i, j) of limb l lies at limbs + l *
// limb_stride + i * row_stride + j. With a panel_stride, which fewer pages and cache lines of a
// processor meet, it lies at j / width * panel_stride + j % width instead of j, for the width of
// GridSums, and there is room for whole panels.
struct GridBlock {
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0, columns = 0;
  std::int64_t depth = 0, depth_begin = 0;
  std::int64_t* limbs = nullptr;
  std::int64_t limb_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t panel_stride = 0;
  bool begin = false;  // from 0: what the limbs were isn't read
};

// GridSums adds the terms of a product to integers, each rounded onto a grid first. Elements that
// aren't finite count as zeros.
class GridSums {
 public:
  GridSums(const Product& product, GridPlan plan, const Kernels& kernels);

  // width is that of a panel: of the columns of a tile.
  std::int64_t width() const { return width_; }

  // columns_at_once is how many columns a block may have.
  std::int64_t columns_at_once() const { return columns_at_once_; }

  // add adds the terms of a block to its limbs.
  void add(const GridBlock& block);

 private:
  struct Range {
    std::int64_t begin, count;
  };

  void add_stretch(const GridBlock& block);
  void add_tile(const GridBlock& block, const Range& rows, const Range& columns,
                ProductTile<double> tile);

  const Product& product_;
  GridPlan plan_;
  const Kernels& kernels_;
  TileSize tile_;
  std::int64_t width_;
  std::int64_t columns_at_once_;
  std::unique_ptr<double[]> packed_;
  double *packed_a_, *packed_b_;
  std::unique_ptr<std::int64_t[]> edge_;
};

}  // namespace simmesh
