#include "core/arithmetic/products/wide_chains.h"

#include <algorithm>
#include <cmath>

#include "core/arithmetic/products/packing.h"

namespace simmesh {

namespace {

// A panel of b and a tile of a stay in the first cache, a block of each and its sums in the second.
constexpr std::int64_t wide_depth_block = 256;
constexpr std::int64_t wide_row_block = 168;
constexpr std::int64_t wide_column_block = 512;
constexpr std::int64_t wide_direct_elements_max = 4096;

std::int64_t whole(std::int64_t count, std::int64_t width) {
  return (count + width - 1) / width * width;
}

}  // namespace

WideChains::WideChains(const Product& product, const Kernels& kernels)
    : product_(product),
      kernels_(kernels),
      tile_(kernels.wide_tile),
      width_(std::int64_t(tile_.vectors) * tile_.lanes) {
  const ProductOperand& b = product.b;
  packs_b_ =
      b.dtype != DType::float32 || b.column_stride != 1 ||
      (product.rows > 2 * tile_.rows && product.depth * product.columns > wide_direct_elements_max);
  std::int64_t deep = std::min(product.depth, wide_depth_block);
  std::int64_t rows = whole(std::min(product.rows, wide_row_block), tile_.rows);
  std::int64_t columns = whole(std::min(product.columns, wide_column_block), width_);
  std::int64_t panel = tile_.rows * deep,
               b_columns = packs_b_ ? columns : std::min(columns, width_);
  sums_ = scratch_.take<double>(rows * columns);
  packed_a_ = scratch_.take<double>(rows * deep);
  packed_b_ = scratch_.take<float>(b_columns * deep);
  panel_ = scratch_.take<float>(panel);
  row_bounds_.resize(std::size_t(whole(product.rows, tile_.rows)), 0);
  column_bounds_.resize(std::size_t(whole(product.columns, width_)), 0);
}

void WideChains::run(const std::function<void(const WideBlock&)>& f) {
  const Product& p = product_;
  std::int64_t row_block = wide_row_block / tile_.rows * tile_.rows;
  for (std::int64_t j = 0; j < p.columns; j += wide_column_block)
    for (std::int64_t i = 0; i < p.rows; i += row_block) {
      WideBlock block{.row = i,
                      .rows = std::min(row_block, p.rows - i),
                      .column = j,
                      .columns = std::min(wide_column_block, p.columns - j),
                      .sums = sums_,
                      .width = width_};
      block.panel_stride = whole(block.rows, tile_.rows) * width_;
      std::int64_t k = 0;
      do {
        stretch(block, k, std::min(wide_depth_block, p.depth - k));
        k += wide_depth_block;
      } while (k < p.depth);
      bound_rows(block);
      f(block);
    }
}

void WideChains::pack_a(const WideBlock& block, std::int64_t k, std::int64_t depth) {
  for (std::int64_t r = 0; r < block.rows; r += tile_.rows) {
    pack_panels<float>(product_.a,
                       {.line_begin = block.row + r,
                        .line_count = std::min<std::int64_t>(tile_.rows, block.rows - r),
                        .depth_begin = k,
                        .depth = depth,
                        .width = tile_.rows},
                       kernels_, panel_);
    double unused[32];
    kernels_.widen_panel(panel_, depth, packed_a_ + r * depth,
                         block.column == 0 ? row_bounds_.data() + block.row + r : unused);
  }
}

void WideChains::stretch(const WideBlock& block, std::int64_t k, std::int64_t depth) {
  const ProductOperand& b = product_.b;
  pack_a(block, k, depth);
  std::int64_t direct_columns = packs_b_ ? 0 : block.columns / width_ * width_;
  if (direct_columns < block.columns)
    pack_panels<float>(transposed(b),
                       {.line_begin = block.column + direct_columns,
                        .line_count = block.columns - direct_columns,
                        .depth_begin = k,
                        .depth = depth,
                        .width = width_},
                       kernels_, packed_b_);
  for (std::int64_t j = 0; j < block.columns; j += width_) {
    bool direct = j < direct_columns;
    WideTile tile{.depth = depth};
    tile.b = direct ? reinterpret_cast<const float*>(b.data) + k * b.row_stride + block.column + j
                    : packed_b_ + (j - direct_columns) * depth;
    tile.b_depth_stride = direct ? b.row_stride : width_;
    tile.vectors = block.columns - j <= tile_.lanes ? 1 : tile_.vectors;
    for (std::int64_t r = 0; r < block.rows; r += tile_.rows) {
      tile.rows = int(std::min<std::int64_t>(tile_.rows, block.rows - r));
      tile.a = packed_a_ + r * depth;
      // A narrow last tile has registers to spare.
      bool is_last = r + tile_.rows >= block.rows;
      if (is_last && block.row == 0) tile.squares = column_bounds_.data() + block.column + j;
      kernels_.wide_chain(tile, sums_ + j / width_ * block.panel_stride + r * width_, k == 0);
    }
  }
}

// A chain of n terms whose magnitudes add up to S is off by at most n * 2^-53 * S, to which each
// sum of chains adds 2^-53 * S; S is at most the product of the norms (Cauchy-Schwarz). Eight more
// cover what the test itself rounds, the factor near 1 the roundings of the norms.
void WideChains::bound_rows(const WideBlock& block) {
  constexpr double margin = 1.0001;
  const std::int64_t chains = product_.depth / wide_depth_block;
  const auto terms = double(std::min(product_.depth, wide_depth_block) + chains + 8);
  if (block.column == 0)
    for (std::int64_t i = block.row; i < block.row + block.rows; ++i)
      row_bounds_[std::size_t(i)] = std::sqrt(row_bounds_[std::size_t(i)]) * terms * 0x1p-53;
  if (block.row == 0)
    for (std::int64_t j = block.column; j < block.column + block.columns; ++j)
      column_bounds_[std::size_t(j)] = std::sqrt(column_bounds_[std::size_t(j)]) * margin;
}

}  // namespace simmesh
