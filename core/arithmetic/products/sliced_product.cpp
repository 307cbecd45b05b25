#include "core/arithmetic/products/sliced_product.h"

#include <algorithm>
#include <bit>

#include "core/check/check.h"

namespace simmesh {

namespace {

constexpr double offset_of_integers = 0x1.8p52;  // leaves 2^51 and the integer in the low bits
constexpr std::int64_t integer_stretch = 1792, float_stretch = 2048;
constexpr std::int64_t integer_rows = 7, integer_row_width = 8, integer_width_max = 16;
// Packed rows stay in the third cache, packed columns in the second.
constexpr std::int64_t packed_rows_bytes = std::int64_t(4) << 20;
constexpr std::int64_t packed_columns_bytes = std::int64_t(1) << 20;

std::int64_t panels_within(std::int64_t bytes, const SlicedLines& lines) {
  std::int64_t panel = lines.packed_size() * lines.most_slices() * std::int64_t(sizeof(double));
  return std::max<std::int64_t>(bytes / panel, 1);
}

int highest_slice(const SlicedLines& lines) {
  int highest = 0;
  for (std::int64_t p = 0; p < lines.panels(); ++p)
    highest = std::max(highest, lines.bits() * (lines.slices(p) - 1));
  return highest;
}

}  // namespace

bool can_multiply_integers(const Kernels& kernels) {
#if defined(__x86_64__)
  return kernels.sliced_tile && __builtin_cpu_supports("avx512ifma");
#else
  return false;
#endif
}

SlicedProduct::SlicedProduct(const Product& product, const Kernels& kernels, SliceFactors factors)
    : product_(product),
      kernels_(kernels),
      integers_(factors == SliceFactors::integers),
      row_lines_(integers_ ? integer_rows : kernels.wide_tile.rows),
      row_width_(integers_ ? integer_row_width : kernels.wide_tile.rows),
      width_(std::int64_t(kernels.wide_tile.vectors) * kernels.wide_tile.lanes),
      a_(product.a, {product.rows, product.depth}, {row_lines_, row_width_, false}, kernels),
      b_(transposed(product.b), {product.columns, product.depth}, {width_, width_, true}, kernels),
      stretch_(std::min(product.depth, integers_ ? integer_stretch : float_stretch)) {
  choose_bits();
}

// A chain of products of floats is exact where the bits of both floats and those of the depth
// together fit into a double.
void SlicedProduct::choose_bits() {
  constexpr int integer_bits = 51, float_bits = 24, double_bits = 53;
  int a = integer_bits, b = integer_bits;
  if (!integers_) {
    int both = double_bits - int(std::bit_width(std::uint64_t(stretch_)));
    a = b = std::min(both / 2, float_bits);
    if (a_.span(a) <= a)
      b = std::min(both - std::max(a_.span(a), 1), float_bits);
    else if (b_.span(b) <= b)
      a = std::min(both - std::max(b_.span(b), 1), float_bits);
  }
  a_.cut(a);
  b_.cut(b);
}

CarriedSums SlicedProduct::run() {
  const LineBits &rows = a_.all(), &columns = b_.all();
  int lowest = rows.lowest + columns.lowest;
  range_ = DigitRange::of_bits(lowest, rows.highest + columns.highest, product_.depth);
  int highest_shift = rows.span() + columns.span() + 31 + highest_slice(a_) + highest_slice(b_);
  all_digits_ = std::max(range_.count, highest_shift / 32 + 4);
  std::int64_t tile = row_lines_ * width_;
  tile_digits_.assign(std::size_t(all_digits_ * tile), 0);
  low_.resize(std::size_t(tile));
  high_.resize(std::size_t(tile));
  chains_.resize(std::size_t(tile));
  seen_.assign(std::size_t(all_digits_) * std::size_t(kernels_.wide_tile.lanes), 0);
  digits_.resize(std::size_t(range_.count * product_.rows * product_.columns));
  std::int64_t row_step = panels_within(packed_rows_bytes, a_);
  std::int64_t column_step = panels_within(packed_columns_bytes, b_);
  Packed a, b;
  for (a.first = 0; a.first < a_.panels(); a.first += row_step) {
    Scratch of_rows;
    a.count = std::min(row_step, a_.panels() - a.first);
    pack(a_, a, of_rows, false);
    for (b.first = 0; b.first < b_.panels(); b.first += column_step) {
      Scratch of_columns;
      b.count = std::min(column_step, b_.panels() - b.first);
      pack(b_, b, of_columns, !integers_);
      // Walks along a row of tiles, whose digits are side by side.
      for (std::int64_t p = a.first; p < a.first + a.count; ++p)
        for (std::int64_t q = b.first; q < b.first + b.count; ++q) {
          add_tile(a, b, p, q);
          finish_tile(p, q);
        }
    }
  }
  CarriedSums sums = trimmed();
  return a_.long_lines().empty() && b_.long_lines().empty() ? sums : with_long_lines(sums);
}

void SlicedProduct::pack(SlicedLines& lines, Packed& packed, Scratch& scratch, bool as_floats) {
  std::int64_t size = lines.packed_size(), width = size / product_.depth;
  packed.panels.assign(std::size_t(packed.count), nullptr);
  packed.float_panels.assign(std::size_t(packed.count), nullptr);
  packed.sums.assign(std::size_t(packed.count), {});
  std::int64_t all_slices = 0;
  for (std::int64_t i = 0; i < packed.count; ++i) all_slices += lines.slices(packed.first + i);
  double* doubles = as_floats ? nullptr : scratch.take<double>(all_slices * size);
  float* floats = as_floats ? scratch.take<float>(all_slices * size) : nullptr;
  for (std::int64_t i = 0; i < packed.count; ++i) {
    std::int64_t panel = packed.first + i, slices = lines.slices(panel);
    if (as_floats) {
      slices_.resize(std::size_t(slices * size));
      lines.pack(panel, 0, kernels_, slices_.data());
      packed.float_panels[std::size_t(i)] = floats;
      for (std::int64_t e = 0; e < slices * size; ++e) floats[e] = float(slices_[std::size_t(e)]);
      floats += slices * size;
      continue;
    }
    packed.panels[std::size_t(i)] = doubles;
    lines.pack(panel, integers_ ? offset_of_integers : 0, kernels_, doubles);
    if (integers_)
      for (std::int64_t s = 0; s < slices; ++s)
        for (std::int64_t k = 0; k < product_.depth; k += stretch_) {
          std::int64_t sums[integer_width_max];
          kernels_.line_sums(doubles + s * size + k * width, std::min(stretch_, product_.depth - k),
                             width, sums);
          packed.sums[std::size_t(i)].insert(packed.sums[std::size_t(i)].end(), sums, sums + width);
        }
    doubles += slices * size;
  }
}

void SlicedProduct::add_tile(const Packed& a, const Packed& b, std::int64_t row_panel,
                             std::int64_t column_panel) {
  auto p = std::size_t(row_panel - a.first), q = std::size_t(column_panel - b.first);
  std::int64_t stretches = (product_.depth + stretch_ - 1) / stretch_;
  SlicedTile tile{.rows = int(a_.lines_of(row_panel)), .digit_stride = row_lines_ * width_};
  int shifts[16];
  tile.shifts = shifts;
  for (std::int64_t s = 0; s < a_.slices(row_panel); ++s)
    for (std::int64_t t = 0; t < b_.slices(column_panel); ++t) {
      for (int r = 0; r < tile.rows; ++r)
        shifts[r] = a_.lowest(row_panel * row_lines_ + r) + b_.lowest(column_panel * width_) +
                    int(s) * a_.bits() + int(t) * b_.bits() - 32 * range_.low;
      for (std::int64_t i = 0; i < stretches; ++i) {
        std::int64_t k = i * stretch_;
        tile.depth = std::min(stretch_, product_.depth - k);
        tile.a = a.panels[p] + s * a_.packed_size() + k * row_width_;
        if (integers_) {
          tile.b = b.panels[q] + t * b_.packed_size() + k * width_;
          tile.row_sums = a.sums[p].data() + (s * stretches + i) * row_width_;
          tile.column_sums = b.sums[q].data() + (t * stretches + i) * width_;
          kernels_.sliced_tile(tile, low_.data(), high_.data());
        } else {
          kernels_.wide_chain({.depth = tile.depth,
                               .a = tile.a,
                               .b = b.float_panels[q] + t * b_.packed_size() + k * width_,
                               .b_depth_stride = width_,
                               .rows = tile.rows,
                               .vectors = kernels_.wide_tile.vectors},
                              chains_.data(), true);
          kernels_.chain_integers(chains_.data(), tile.rows, low_.data(), high_.data());
        }
        kernels_.place_tile(tile, low_.data(), high_.data(), tile_digits_.data());
      }
    }
}

void SlicedProduct::finish_tile(std::int64_t row_panel, std::int64_t column_panel) {
  std::int64_t row = row_panel * row_lines_, column = column_panel * width_;
  kernels_.finish_digits({.rows = int(a_.lines_of(row_panel)),
                          .columns = b_.lines_of(column_panel),
                          .digit_count = range_.count,
                          .all_digits = all_digits_,
                          .digits = tile_digits_.data(),
                          .digit_stride = row_lines_ * width_,
                          .out = digits_.data() + row * product_.columns + column,
                          .out_row_stride = product_.columns,
                          .out_digit_stride = product_.rows * product_.columns,
                          .seen = seen_.data()});
}

CarriedSums SlicedProduct::trimmed() {
  std::int64_t lanes = kernels_.wide_tile.lanes;
  auto has_any = [&](int d) {
    auto begin = seen_.begin() + d * lanes;
    return std::any_of(begin, begin + lanes, [](std::int64_t x) { return x != 0; });
  };
  for (int d = range_.count; d < all_digits_; ++d)
    SIMMESH_CHECK(!has_any(d), "a sum in digit {} of {}", d, range_.count);
  int begin = 0, end = range_.count;
  while (end > begin && !has_any(end - 1)) --end;
  while (begin < end && !has_any(begin)) ++begin;
  std::int64_t count = product_.rows * product_.columns;
  digits_.resize(std::size_t(end * count));
  digits_.erase(digits_.begin(), digits_.begin() + begin * count);
  return CarriedSums::of_digits(std::move(digits_), count, range_.low + begin);
}

CarriedSums SlicedProduct::with_long_lines(const CarriedSums& sums) const {
  std::vector<std::pair<std::int64_t, CarriedSums>> elements;
  std::vector<double> row(std::size_t(product_.depth)), column(row.size());
  auto add = [&](std::int64_t i, std::int64_t j) {
    operand_line(transposed(product_.b), j, column);
    DigitSums sum(1, DigitRange::whole());
    for (std::size_t k = 0; k < row.size(); ++k) sum.add_product(0, row[k], column[k]);
    elements.emplace_back(i * product_.columns + j, sum.take());
  };
  const auto &rows = a_.long_lines(), &columns = b_.long_lines();
  for (std::int64_t i = 0; i < product_.rows; ++i) {
    bool is_long = std::binary_search(rows.begin(), rows.end(), i);
    if (!is_long && columns.empty()) continue;
    operand_line(product_.a, i, row);
    if (is_long)
      for (std::int64_t j = 0; j < product_.columns; ++j) add(i, j);
    else
      for (std::int64_t j : columns) add(i, j);
  }
  DigitRange range{sums.low(), std::max(sums.digit_count(), 1)};
  for (const auto& [at, sum] : elements)
    if (sum.digit_count() > 0) range = range.joined({sum.low(), sum.digit_count()});
  DigitSums all(sums.count(), range);
  all.add_sums(sums);
  for (const auto& [at, sum] : elements) all.add_sums(sum, at);
  return all.take();
}

}  // namespace simmesh
