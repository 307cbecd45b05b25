#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include <simmesh/core/arithmetic/exponents.h>
#include <simmesh/core/arithmetic/kernels.h>
#include <simmesh/core/arithmetic/non_finite_terms.h>
#include <simmesh/core/arithmetic/packing.h>
#include <simmesh/core/arithmetic/product.h>
#include <simmesh/core/arithmetic/product_check.h>
#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/arithmetic/wide_rounding.h>
#include <simmesh/core/check/error.h>

namespace simmesh {

namespace {

constexpr std::int64_t depth_block = 256;
constexpr std::int64_t row_block = 96;
// What exact_product accumulates before it rounds.
constexpr std::int64_t rows_at_once = 1024;
constexpr std::int64_t columns_at_once = 1024;

// A term has so many bits below the product of its row's and its column's power of two.
int term_bits(std::int64_t depth_total) {
  constexpr int bits_max = 51;
  constexpr std::int64_t full_scale_depth_max = 4095;
  if (depth_total <= full_scale_depth_max) return bits_max;
  return bits_max - (int(std::bit_width(std::uint64_t(depth_total))) - 12);
}

// 2^e as the product of two factors, each a normal double; 0 for exponent_of_zeros.
struct Scales {
  std::vector<double> first, second;
};

Scales scales_of(gsl::span<const std::int32_t> exponents, int bits, bool is_double) {
  Scales scales;
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

// ExactGrid is what a product's grid needs: exponents, the operands' scales and who isn't finite.
class ExactGrid {
 public:
  explicit ExactGrid(const Product& p)
      : is_double(p.a.dtype == DType::float64 || p.b.dtype == DType::float64),
        bits(term_bits(p.depth_total > 0 ? p.depth_total : p.depth)) {
    if (p.row_exponents.empty() || p.a.data) a_found_ = line_exponents(p.a, {p.rows, p.depth});
    if (p.column_exponents.empty() || p.b.data)
      b_found_ = line_exponents(transposed(p.b), {p.columns, p.depth});
    rows = chosen(p.row_exponents, a_found_, "row");
    columns = chosen(p.column_exponents, b_found_, "column");
  }

  bool row_is_finite(std::int64_t i) const { return a_found_.is_finite(i); }
  bool column_is_finite(std::int64_t j) const { return b_found_.is_finite(j); }
  bool all_finite() const { return a_found_.not_finite.empty() && b_found_.not_finite.empty(); }

  const bool is_double;
  const int bits;
  gsl::span<const std::int32_t> rows, columns;

 private:
  static gsl::span<const std::int32_t> chosen(gsl::span<const std::int32_t> given,
                                              const LineExponents& found, const char* what) {
    if (given.empty()) return found.exponents;
    for (std::size_t i = 0; i < found.exponents.size(); ++i)
      if (i >= given.size() || found.exponents[i] > given[i])
        raise(ErrorKind::value_error, "arithmetic/product",
              "expected the exponents of the whole operand, got {} for {} {}, which has {}",
              i < given.size() ? given[i] : 0, what, i, found.exponents[i]);
    return given;
  }

  LineExponents a_found_, b_found_;
};

// The limbs of a block of the product, which starts at a row and a column of it.
struct Block {
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0, columns = 0;
  std::int64_t* limbs = nullptr;
  std::int64_t limb_stride = 0;
  std::int64_t row_stride = 0;
};

class GridSums {
 public:
  GridSums(const Product& product, const ExactGrid& grid, const Kernels& kernels)
      : product_(product),
        kernel_(grid.is_double ? kernels.grid_pair_two : kernels.grid_one),
        tile_(kernels.grid_tile),
        width_(std::int64_t(tile_.vectors) * tile_.lanes),
        limbs_(grid.is_double ? 2 : 1),
        bits_(grid.bits),
        a_scales_(scales_of(grid.rows, 0, grid.is_double)),
        b_scales_(scales_of(grid.columns, grid.bits, grid.is_double)) {
    std::int64_t deep = std::min(product.depth, depth_block);
    std::int64_t wide = (std::min(product.columns, columns_at_once) + width_ - 1) / width_ * width_;
    packed_a_ = std::make_unique_for_overwrite<double[]>(
        std::size_t((std::min(product.rows, row_block) + tile_.rows) * deep));
    packed_b_ = std::make_unique_for_overwrite<double[]>(std::size_t(wide * deep));
    edge_ =
        std::make_unique_for_overwrite<std::int64_t[]>(std::size_t(limbs_ * tile_.rows * width_));
  }

  // Adds the terms of a block, at most columns_at_once wide, to its limbs.
  void add(const Block& block) {
    for (std::int64_t k = 0; k < product_.depth; k += depth_block)
      add_stretch(block, k, std::min(depth_block, product_.depth - k));
  }

 private:
  void add_stretch(const Block& block, std::int64_t k, std::int64_t depth) {
    pack_panels<double>(transposed(product_.b),
                        {.line_begin = block.column,
                         .line_count = block.columns,
                         .depth_begin = k,
                         .depth = depth,
                         .width = width_,
                         .scales = b_scales_.first,
                         .more_scales = b_scales_.second},
                        packed_b_.get());
    std::int64_t rows_at_a_time = row_block / tile_.rows * tile_.rows;
    for (std::int64_t i = 0; i < block.rows; i += rows_at_a_time) {
      std::int64_t rows = std::min(rows_at_a_time, block.rows - i);
      pack_panels<double>(product_.a,
                          {.line_begin = block.row + i,
                           .line_count = rows,
                           .depth_begin = k,
                           .depth = depth,
                           .width = tile_.rows,
                           .scales = a_scales_.first,
                           .more_scales = a_scales_.second},
                          packed_a_.get());
      for (std::int64_t j = 0; j < block.columns; j += width_)
        for (std::int64_t r = 0; r < rows; r += tile_.rows)
          add_tile(block, {i + r, std::min<std::int64_t>(tile_.rows, rows - r)},
                   {j, std::min(width_, block.columns - j)},
                   {.depth = depth,
                    .a = packed_a_.get() + r * depth,
                    .a_row_stride = 1,
                    .a_depth_stride = tile_.rows,
                    .b = packed_b_.get() + j * depth,
                    .b_depth_stride = width_});
    }
  }

  struct Range {
    std::int64_t begin, count;
  };

  void add_tile(const Block& block, const Range& rows, const Range& columns,
                ProductTile<double> tile) {
    tile.rows = int(rows.count);
    tile.vectors = columns.count <= tile_.lanes ? 1 : tile_.vectors;
    std::int64_t* first = block.limbs + rows.begin * block.row_stride + columns.begin;
    GridLimbs out{.limbs = first,
                  .limb_stride = block.limb_stride,
                  .row_stride = block.row_stride,
                  .constants = {0x1.8p52, std::ldexp(0x1.8p52, -bits_), 0}};
    if (columns.count == width_) return kernel_(tile, out);
    out.limbs = edge_.get();
    out.limb_stride = tile_.rows * width_;
    out.row_stride = width_;
    copy_edge(block, first, rows.count, columns.count,
              [](std::int64_t* edge, std::int64_t* limb) { *edge = *limb; });
    kernel_(tile, out);
    copy_edge(block, first, rows.count, columns.count,
              [](std::int64_t* edge, std::int64_t* limb) { *limb = *edge; });
  }

  template <class F>
  void copy_edge(const Block& block, std::int64_t* first, std::int64_t rows, std::int64_t columns,
                 F&& copy) {
    for (std::int64_t l = 0; l < limbs_; ++l)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < columns; ++j)
          copy(edge_.get() + (l * tile_.rows + r) * width_ + j,
               first + l * block.limb_stride + r * block.row_stride + j);
  }

  const Product& product_;
  GridTile kernel_;
  TileSize tile_;
  std::int64_t width_;
  std::int64_t limbs_;
  int bits_;
  Scales a_scales_, b_scales_;
  std::unique_ptr<double[]> packed_a_, packed_b_;
  std::unique_ptr<std::int64_t[]> edge_;
};

template <class R>
void finish_floats(const Product& p, const ExactGrid& grid, const Block& block) {
  std::vector<double> scales(std::size_t(block.columns));
  for (std::int64_t j = 0; j < block.columns; ++j)
    scales[std::size_t(j)] = std::ldexp(1.0, grid.columns[std::size_t(block.column + j)]);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    double scale = std::ldexp(1.0, grid.rows[std::size_t(block.row + i)] - grid.bits);
    const std::int64_t* limbs = block.limbs + i * block.row_stride;
    R* out = reinterpret_cast<R*>(p.result) + (block.row + i) * p.result_row_stride + block.column;
    for (std::int64_t j = 0; j < block.columns; ++j)
      if constexpr (std::is_same_v<R, double>)
        out[j] = int64_to_double(limbs[j]) * scale * scales[std::size_t(j)];
      else if constexpr (std::is_same_v<R, float>)
        out[j] = float(odd_int64_to_double(limbs[j]) * scale * scales[std::size_t(j)]);
      else
        out[j] = rounded_to<R>(odd_int64_to_double(limbs[j]) * scale * scales[std::size_t(j)]);
  }
}

template <class R>
void finish_pairs(const Product& p, const ExactGrid& grid, const Block& block) {
  for (std::int64_t i = 0; i < block.rows; ++i)
    for (std::int64_t j = 0; j < block.columns; ++j) {
      const std::int64_t* limb = block.limbs + i * block.row_stride + j;
      WideQuotient sum{.numerator = (Int128(limb[0]) << grid.bits) + limb[block.limb_stride],
                       .exponent = grid.rows[std::size_t(block.row + i)] +
                                   grid.columns[std::size_t(block.column + j)] - 2 * grid.bits};
      reinterpret_cast<R*>(p.result)[(block.row + i) * p.result_row_stride + block.column + j] =
          rounded_to<R>(rounded_quotient(sum, p.result_dtype));
    }
}

void finish_block(const Product& p, const ExactGrid& grid, const Block& block) {
  visit_dtype(p.result_dtype, [&]<class R>(R) {
    if constexpr (!std::is_integral_v<R>)
      grid.is_double ? finish_pairs<R>(p, grid, block) : finish_floats<R>(p, grid, block);
  });
}

double element(const ProductOperand& operand, std::int64_t row, std::int64_t column) {
  return visit_dtype(operand.dtype, [&]<class T>(T) {
    T x = reinterpret_cast<const T*>(
        operand.data)[row * operand.row_stride + column * operand.column_stride];
    if constexpr (std::is_integral_v<T>)
      return double(x);
    else
      return widened(x);
  });
}

// Calls f(row, column, count) for the elements that have a term which isn't finite.
template <class F>
void non_finite_elements(const Product& p, const ExactGrid& grid, F&& f) {
  if (grid.all_finite()) return;
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j) {
      if (grid.row_is_finite(i) && grid.column_is_finite(j)) continue;
      std::int64_t count = 0;
      for (std::int64_t k = 0; k < p.depth; ++k) {
        double a = element(p.a, i, k), b = element(p.b, k, j);
        if (a - a != 0 || b - b != 0)
          count = NonFiniteTerms::merged(count, NonFiniteTerms::of(a * b));
      }
      if (count != 0) f(i, j, count);
    }
}

void write_non_finite(const Product& p, std::int64_t i, std::int64_t j, std::int64_t count) {
  visit_dtype(p.result_dtype, [&]<class R>(R) {
    if constexpr (!std::is_integral_v<R>)
      reinterpret_cast<R*>(p.result)[i * p.result_row_stride + j] =
          rounded_to<R>(NonFiniteTerms::value(count));
  });
}

void check_floating(const Product& p) {
  check_product(p);
  if (!is_floating_point(p.a.dtype))
    raise(ErrorKind::type_error, "arithmetic/product",
          "expected floating operands for exact accumulators, got {}", to_string(p.a.dtype));
}

}  // namespace

void exact_product(const Product& product, InstructionSet set) {
  check_product(product);
  if (!is_floating_point(product.a.dtype)) return canonical_product(product, set);
  if (product.rows == 0 || product.columns == 0) return;
  ExactGrid grid(product);
  GridSums sums(product, grid, kernels_of(set));
  std::int64_t rows = std::min(product.rows, rows_at_once);
  std::int64_t columns = std::min(product.columns, columns_at_once);
  std::int64_t limbs = grid.is_double ? 2 : 1;
  auto scratch =
      std::make_unique_for_overwrite<std::int64_t[]>(std::size_t(limbs * rows * columns));
  for (std::int64_t i = 0; i < product.rows; i += rows)
    for (std::int64_t j = 0; j < product.columns; j += columns) {
      Block block{.row = i,
                  .rows = std::min(rows, product.rows - i),
                  .column = j,
                  .columns = std::min(columns, product.columns - j),
                  .limbs = scratch.get(),
                  .limb_stride = rows * columns,
                  .row_stride = columns};
      std::fill(scratch.get(), scratch.get() + limbs * rows * columns, 0);
      sums.add(block);
      finish_block(product, grid, block);
    }
  non_finite_elements(product, grid, [&](std::int64_t i, std::int64_t j, std::int64_t count) {
    write_non_finite(product, i, j, count);
  });
}

ExactAccumulators exact_accumulate(const Product& product, InstructionSet set) {
  check_floating(product);
  ExactGrid grid(product);
  ExactAccumulators result;
  result.limbs = zeros({grid.is_double ? 2 : 1, product.rows, product.columns}, DType::int64);
  if (product.rows == 0 || product.columns == 0) return result;
  GridSums sums(product, grid, kernels_of(set));
  std::int64_t* limbs = result.limbs.mutable_values<std::int64_t>().data();
  for (std::int64_t j = 0; j < product.columns; j += columns_at_once)
    sums.add({.row = 0,
              .rows = product.rows,
              .column = j,
              .columns = std::min(columns_at_once, product.columns - j),
              .limbs = limbs + j,
              .limb_stride = product.rows * product.columns,
              .row_stride = product.columns});
  non_finite_elements(product, grid, [&](std::int64_t i, std::int64_t j, std::int64_t count) {
    if (!result.non_finite.is_defined())
      result.non_finite = zeros({product.rows, product.columns}, DType::int64);
    result.non_finite.mutable_values<std::int64_t>()[std::size_t(i * product.columns + j)] = count;
  });
  return result;
}

void exact_finish(const Product& product, const ExactAccumulators& accumulators) {
  check_floating(product);
  if (product.rows == 0 || product.columns == 0) return;
  ExactGrid grid(product);
  Tensor limbs = accumulators.limbs.contiguous();
  SIMMESH_CHECK(limbs.element_count() == (grid.is_double ? 2 : 1) * product.rows * product.columns,
                "accumulators of {} for a product of {} x {}", to_string(limbs.shape()),
                product.rows, product.columns);
  finish_block(product, grid,
               {.row = 0,
                .rows = product.rows,
                .column = 0,
                .columns = product.columns,
                .limbs = limbs.mutable_values<std::int64_t>().data(),
                .limb_stride = product.rows * product.columns,
                .row_stride = product.columns});
  if (!accumulators.non_finite.is_defined()) return;
  Tensor counts = accumulators.non_finite.contiguous();
  std::int64_t index = 0;
  for (std::int64_t count : counts.values<std::int64_t>()) {
    if (count != 0)
      write_non_finite(product, index / product.columns, index % product.columns, count);
    ++index;
  }
}

}  // namespace simmesh
