#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include <simmesh/core/arithmetic/exponents.h>
#include <simmesh/core/arithmetic/grid_sums.h>
#include <simmesh/core/arithmetic/kernels.h>
#include <simmesh/core/arithmetic/non_finite_terms.h>
#include <simmesh/core/arithmetic/product.h>
#include <simmesh/core/arithmetic/product_check.h>
#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/arithmetic/wide_rounding.h>
#include <simmesh/core/check/error.h>

namespace simmesh {

namespace {

// So many rows are accumulated before they are rounded.
constexpr std::int64_t rows_at_once = 1024;

// A term has so many bits below the product of its row's and its column's power of two.
int term_bits(std::int64_t depth_total) {
  constexpr int bits_max = 51;
  constexpr std::int64_t full_scale_depth_max = 4095;
  if (depth_total <= full_scale_depth_max) return bits_max;
  return bits_max - (int(std::bit_width(std::uint64_t(depth_total))) - 12);
}

// 2^e for any e, without the C library's wrapper.
double power_of_two(int e) {
  constexpr int bias = 1023;
  if (-bias < e && e <= bias) return std::bit_cast<double>(std::uint64_t(e + bias) << 52);
  return std::ldexp(1.0, e);
}

// ExactGrid is what a product's grid needs: exponents, the operands' scales and who isn't finite.
class ExactGrid {
 public:
  ExactGrid(const Product& p, const Kernels& kernels)
      : is_double(p.a.dtype == DType::float64 || p.b.dtype == DType::float64),
        bits(term_bits(p.depth_total > 0 ? p.depth_total : p.depth)) {
    if (p.row_exponents.empty() || p.a.data)
      a_found_ = line_exponents(p.a, {p.rows, p.depth}, kernels);
    if (p.column_exponents.empty() || p.b.data)
      b_found_ = line_exponents(transposed(p.b), {p.columns, p.depth}, kernels);
    rows = chosen(p.row_exponents, a_found_, "row");
    columns = chosen(p.column_exponents, b_found_, "column");
  }

  const LineExponents& found_rows() const { return a_found_; }
  const LineExponents& found_columns() const { return b_found_; }

  GridPlan plan(const Kernels& kernels) const {
    return {.kernel = is_double ? kernels.grid_pair_two : kernels.grid_one,
            .limbs = is_double ? 2 : 1,
            .constants = {0x1.8p52, std::ldexp(0x1.8p52, -bits), 0},
            .a_scales = scales_of(rows, 0, is_double),
            .b_scales = scales_of(columns, bits, is_double)};
  }

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

// Sums is a block of an exact product, ready to be rounded.
struct Sums {
  const GridBlock& block;
  std::int64_t width, panel_stride;

  Sums(const GridBlock& of, std::int64_t panel_width)
      : block(of),
        width(of.panel_stride == 0 ? of.columns : panel_width),
        panel_stride(of.panel_stride) {}

  const std::int64_t* limb(std::int64_t i, std::int64_t j) const {
    return block.limbs + i * block.row_stride + j / width * panel_stride + j % width;
  }
};

template <class R>
void finish_floats(const Product& p, const ExactGrid& grid, const Sums& sums,
                   const Kernels& kernels) {
  const GridBlock& block = sums.block;
  std::vector<double> row_scales, column_scales;
  for (std::int32_t e : grid.rows.subspan(std::size_t(block.row), std::size_t(block.rows)))
    row_scales.push_back(power_of_two(e - grid.bits));
  for (std::int32_t e : grid.columns.subspan(std::size_t(block.column), std::size_t(block.columns)))
    column_scales.push_back(power_of_two(e));
  R* out = reinterpret_cast<R*>(p.result) + block.row * p.result_row_stride + block.column;
  if constexpr (std::is_same_v<R, float>) {
    kernels.finish_float({.rows = block.rows,
                          .columns = block.columns,
                          .limbs = block.limbs,
                          .row_stride = block.row_stride,
                          .width = sums.width,
                          .panel_stride = sums.panel_stride,
                          .row_scales = row_scales.data(),
                          .column_scales = column_scales.data(),
                          .out = out,
                          .out_row_stride = p.result_row_stride});
  } else {
    for (std::int64_t i = 0; i < block.rows; ++i, out += p.result_row_stride)
      for (std::int64_t j = 0; j < block.columns; ++j) {
        std::int64_t limb = *sums.limb(i, j);
        double row = row_scales[std::size_t(i)], column = column_scales[std::size_t(j)];
        if constexpr (std::is_same_v<R, double>)
          out[j] = int64_to_double(limb) * row * column;
        else
          out[j] = rounded_to<R>(odd_int64_to_double(limb) * row * column);
      }
  }
}

template <class R>
void finish_pairs(const Product& p, const ExactGrid& grid, const Sums& sums) {
  const GridBlock& block = sums.block;
  for (std::int64_t i = 0; i < block.rows; ++i)
    for (std::int64_t j = 0; j < block.columns; ++j) {
      const std::int64_t* limb = sums.limb(i, j);
      WideQuotient sum{.numerator = (Int128(limb[0]) << grid.bits) + limb[block.limb_stride],
                       .exponent = grid.rows[std::size_t(block.row + i)] +
                                   grid.columns[std::size_t(block.column + j)] - 2 * grid.bits};
      reinterpret_cast<R*>(p.result)[(block.row + i) * p.result_row_stride + block.column + j] =
          rounded_to<R>(rounded_quotient(sum, p.result_dtype));
    }
}

void finish_block(const Product& p, const ExactGrid& grid, const Sums& sums,
                  const Kernels& kernels) {
  visit_dtype(p.result_dtype, [&]<class R>(R) {
    if constexpr (!std::is_integral_v<R>)
      grid.is_double ? finish_pairs<R>(p, grid, sums) : finish_floats<R>(p, grid, sums, kernels);
  });
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
  const Kernels& kernels = kernels_of(set);
  ExactGrid grid(product, kernels);
  GridSums sums(product, grid.plan(kernels), kernels);
  std::int64_t rows = std::min(product.rows, rows_at_once);
  std::int64_t columns = sums.columns_at_once();
  std::int64_t limbs = grid.is_double ? 2 : 1, width = sums.width();
  std::int64_t panels = (columns + width - 1) / width;
  auto scratch =
      std::make_unique_for_overwrite<std::int64_t[]>(std::size_t(limbs * rows * panels * width));
  for (std::int64_t i = 0; i < product.rows; i += rows)
    for (std::int64_t j = 0; j < product.columns; j += columns) {
      GridBlock block{.row = i,
                      .rows = std::min(rows, product.rows - i),
                      .column = j,
                      .columns = std::min(columns, product.columns - j),
                      .depth = product.depth,
                      .limbs = scratch.get(),
                      .limb_stride = rows * panels * width,
                      .row_stride = width,
                      .panel_stride = rows * width,
                      .begin = true};
      sums.add(block);
      finish_block(product, grid, Sums(block, width), kernels);
    }
  non_finite_elements(product, grid.found_rows(), grid.found_columns(),
                      [&](std::int64_t i, std::int64_t j, std::int64_t count) {
                        write_non_finite(product, i, j, count);
                      });
}

ExactAccumulators exact_accumulate(const Product& product, InstructionSet set) {
  check_floating(product);
  const Kernels& kernels = kernels_of(set);
  ExactGrid grid(product, kernels);
  ExactAccumulators result;
  result.limbs = zeros({grid.is_double ? 2 : 1, product.rows, product.columns}, DType::int64);
  if (product.rows == 0 || product.columns == 0) return result;
  GridSums sums(product, grid.plan(kernels), kernels);
  std::int64_t* limbs = result.limbs.mutable_values<std::int64_t>().data();
  for (std::int64_t j = 0; j < product.columns; j += sums.columns_at_once())
    sums.add({.row = 0,
              .rows = product.rows,
              .column = j,
              .columns = std::min(sums.columns_at_once(), product.columns - j),
              .depth = product.depth,
              .limbs = limbs + j,
              .limb_stride = product.rows * product.columns,
              .row_stride = product.columns});
  non_finite_elements(
      product, grid.found_rows(), grid.found_columns(),
      [&](std::int64_t i, std::int64_t j, std::int64_t count) {
        if (!result.non_finite.is_defined())
          result.non_finite = zeros({product.rows, product.columns}, DType::int64);
        result.non_finite.mutable_values<std::int64_t>()[std::size_t(i * product.columns + j)] =
            count;
      });
  return result;
}

void exact_finish(const Product& product, const ExactAccumulators& accumulators) {
  check_floating(product);
  if (product.rows == 0 || product.columns == 0) return;
  const Kernels& kernels = kernels_of(best_instruction_set());
  ExactGrid grid(product, kernels);
  Tensor limbs = accumulators.limbs.contiguous();
  SIMMESH_CHECK(limbs.element_count() == (grid.is_double ? 2 : 1) * product.rows * product.columns,
                "accumulators of {} for a product of {} x {}", to_string(limbs.shape()),
                product.rows, product.columns);
  GridBlock block{.row = 0,
                  .rows = product.rows,
                  .column = 0,
                  .columns = product.columns,
                  .limbs = limbs.mutable_values<std::int64_t>().data(),
                  .limb_stride = product.rows * product.columns,
                  .row_stride = product.columns};
  finish_block(product, grid, Sums(block, 0), kernels);
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
