#include <algorithm>
#include <cmath>

#include <simmesh/core/arithmetic/exponents.h>
#include <simmesh/core/arithmetic/grid_sums.h>
#include <simmesh/core/arithmetic/packing.h>

namespace simmesh {

namespace {

constexpr std::int64_t grid_depth_block = 256;
constexpr std::int64_t grid_row_block = 96;
constexpr std::int64_t columns_max = 1024;
// Few rows read the packed columns only once or twice: so many stay in the second cache.
constexpr std::int64_t few_rows = 16;
constexpr std::int64_t columns_of_few_rows = 128;

}  // namespace

LineScales scales_of(gsl::span<const std::int32_t> exponents, int bits, bool is_double) {
  LineScales scales;
  scales.first.resize(exponents.size());
  if (is_double) scales.second.resize(exponents.size());
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    bool zeros = exponents[i] == exponent_of_zeros;
    int e = bits - exponents[i], half = is_double ? e / 2 : 0;
    scales.first[i] = zeros ? 0 : std::ldexp(1.0, e - half);
    if (is_double) scales.second[i] = std::ldexp(1.0, zeros ? 0 : half);
  }
  return scales;
}

GridSums::GridSums(const Product& product, GridPlan plan, const Kernels& kernels)
    : product_(product),
      plan_(std::move(plan)),
      kernels_(kernels),
      tile_(kernels.grid_tile),
      width_(std::int64_t(tile_.vectors) * tile_.lanes),
      columns_at_once_(
          std::min(product.columns, product.rows <= few_rows ? columns_of_few_rows : columns_max)) {
  std::int64_t deep = std::min(product.depth, grid_depth_block);
  std::int64_t wide = (columns_at_once_ + width_ - 1) / width_ * width_;
  std::int64_t a_count = (std::min(product.rows, grid_row_block) + tile_.rows) * deep;
  packed_ = std::make_unique_for_overwrite<double[]>(std::size_t(a_count + wide * deep));
  packed_a_ = packed_.get();
  packed_b_ = packed_a_ + a_count;
  edge_ = std::make_unique_for_overwrite<std::int64_t[]>(
      std::size_t(plan_.limbs * tile_.rows * width_));
}

void GridSums::add(const GridBlock& block) {
  GridBlock part = block;
  std::int64_t k = 0;
  do {
    part.depth_begin = block.depth_begin + k;
    part.depth = std::min(grid_depth_block, block.depth - k);
    add_stretch(part);
    part.begin = false;
    k += grid_depth_block;
  } while (k < block.depth);
}

void GridSums::add_stretch(const GridBlock& block) {
  std::int64_t k = block.depth_begin, depth = block.depth;
  pack_panels<double>(transposed(product_.b),
                      {.line_begin = block.column,
                       .line_count = block.columns,
                       .depth_begin = k,
                       .depth = depth,
                       .width = width_,
                       .scales = plan_.b_scales.first,
                       .more_scales = plan_.b_scales.second},
                      kernels_, packed_b_);
  std::int64_t rows_at_a_time = grid_row_block / tile_.rows * tile_.rows;
  for (std::int64_t i = 0; i < block.rows; i += rows_at_a_time) {
    std::int64_t rows = std::min(rows_at_a_time, block.rows - i);
    pack_panels<double>(product_.a,
                        {.line_begin = block.row + i,
                         .line_count = rows,
                         .depth_begin = k,
                         .depth = depth,
                         .width = tile_.rows,
                         .scales = plan_.a_scales.first,
                         .more_scales = plan_.a_scales.second},
                        kernels_, packed_a_);
    for (std::int64_t j = 0; j < block.columns; j += width_)
      for (std::int64_t r = 0; r < rows; r += tile_.rows)
        add_tile(block, {i + r, std::min<std::int64_t>(tile_.rows, rows - r)},
                 {j, std::min(width_, block.columns - j)},
                 {.depth = depth,
                  .a = packed_a_ + r * depth,
                  .a_row_stride = 1,
                  .a_depth_stride = tile_.rows,
                  .b = packed_b_ + j * depth,
                  .b_depth_stride = width_});
  }
}

void GridSums::add_tile(const GridBlock& block, const Range& rows, const Range& columns,
                        ProductTile<double> tile) {
  tile.rows = int(rows.count);
  tile.vectors = columns.count <= tile_.lanes ? 1 : tile_.vectors;
  std::int64_t column =
      block.panel_stride == 0 ? columns.begin : columns.begin / width_ * block.panel_stride;
  std::int64_t* first = block.limbs + rows.begin * block.row_stride + column;
  GridLimbs out{.limbs = first,
                .limb_stride = block.limb_stride,
                .row_stride = block.row_stride,
                .constants = {plan_.constants[0], plan_.constants[1], plan_.constants[2]},
                .begin = block.begin};
  if (columns.count == width_ || block.panel_stride != 0) return plan_.kernel(tile, out);
  out.limbs = edge_.get();
  out.limb_stride = tile_.rows * width_;
  out.row_stride = width_;
  auto each_line = [&](auto copy) {
    for (std::int64_t l = 0; l < plan_.limbs; ++l)
      for (std::int64_t r = 0; r < rows.count; ++r)
        copy(edge_.get() + l * out.limb_stride + r * width_,
             first + l * block.limb_stride + r * block.row_stride);
  };
  each_line([&](std::int64_t* edge, std::int64_t* line) {
    std::copy(line, line + columns.count, edge);
    std::fill(edge + columns.count, edge + width_, 0);
  });
  plan_.kernel(tile, out);
  each_line(
      [&](std::int64_t* edge, std::int64_t* line) { std::copy(edge, edge + columns.count, line); });
}

}  // namespace simmesh
