#include "core/arithmetic/products/sliced_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/arithmetic/products/packing.h"

namespace simmesh {

namespace {

// For floats two magnitudes are enough.
std::vector<LineBits> float_line_bits(const ProductOperand& operand, const MatrixSize& size,
                                      const Kernels& kernels) {
  constexpr int last_bit = -149, mantissa_bits = 24, infinite = 255;
  std::vector<std::uint32_t> largest(std::size_t(size.rows)), least(std::size_t(size.rows));
  kernels.magnitude_ranges({.data = reinterpret_cast<const float*>(operand.data),
                            .line_stride = operand.row_stride,
                            .depth_stride = operand.column_stride,
                            .line_count = size.rows,
                            .depth = size.columns},
                           largest.data(), least.data());
  std::vector<LineBits> bits(std::size_t(size.rows));
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (largest[i] == 0) continue;
    auto high = int(largest[i] >> 23), low = int((least[i] + 1) >> 23);
    bits[i] = {.lowest = last_bit + std::max(low, 1) - 1,
               .highest = last_bit + std::max(high, 1) - 1 + mantissa_bits,
               .is_finite = high < infinite};
  }
  return bits;
}

int slices_for(int span, int bits) { return span <= bits ? 1 : span / bits + 1; }

LineBits joined(const LineBits& a, const LineBits& b) {
  if (a.span() == 0) return b;
  if (b.span() == 0) return a;
  return {.lowest = std::min(a.lowest, b.lowest), .highest = std::max(a.highest, b.highest)};
}

}  // namespace

SlicedLines::SlicedLines(const ProductOperand& operand, const MatrixSize& size,
                         const Layout& layout, const Kernels& kernels)
    : operand_(operand), size_(size), layout_(layout) {
  if (operand.dtype == DType::float32) {
    lines_ = float_line_bits(operand, size, kernels);
    return;
  }
  std::vector<double> line(std::size_t(size.columns));
  for (std::int64_t i = 0; i < size.rows; ++i) {
    operand_line(operand, i, line);
    lines_.push_back(line_bits(line));
  }
}

int SlicedLines::span(int bits) const {
  int most = 0;
  for (const LineBits& line : lines_)
    if (line.is_finite && line.span() < slices_max * bits) most = std::max(most, line.span());
  return most;
}

// Returns whether the line fits into the panel, whose slices hold a limited number of bits, and
// joins it if so.
bool SlicedLines::joins(const LineBits& line, LineBits& panel) const {
  LineBits both = joined(panel, line);
  if (!line.is_finite || both.span() >= slices_max * bits_) return false;
  panel = both;
  return true;
}

void SlicedLines::cut(int bits) {
  constexpr int of_zeros = std::numeric_limits<int>::min();
  bits_ = bits;
  lowest_.assign(lines_.size(), 0);
  scales_.assign(lines_.size(), 0);
  if (operand_.dtype == DType::float64) more_scales_.assign(lines_.size(), 0);
  std::vector<bool> is_long(lines_.size(), false);
  for (std::int64_t begin = 0; begin < size_.rows; begin += layout_.lines) {
    std::int64_t end = std::min(begin + layout_.lines, size_.rows);
    LineBits panel;
    int slices = 1;
    for (std::int64_t l = begin; l < end; ++l) {
      auto at = std::size_t(l);
      LineBits alone;
      LineBits& bits_of = layout_.shares_lowest ? panel : alone;
      is_long[at] = !joins(lines_[at], bits_of);
      if (is_long[at]) long_lines_.push_back(l);
      slices = std::max(slices, slices_for(bits_of.span(), bits_));
      lowest_[at] = bits_of.span() == 0 ? of_zeros : bits_of.lowest;
      all_ = joined(all_, bits_of);
    }
    if (layout_.shares_lowest)
      std::fill(lowest_.begin() + begin, lowest_.begin() + end,
                panel.span() == 0 ? of_zeros : panel.lowest);
    slices_.push_back(slices);
  }
  for (std::size_t l = 0; l < lines_.size(); ++l) {
    bool is_zero = is_long[l] || lines_[l].span() == 0;
    if (lowest_[l] == of_zeros) lowest_[l] = all_.lowest;
    int exponent = -lowest_[l], half = more_scales_.empty() ? 0 : exponent / 2;
    scales_[l] = is_zero ? 0 : std::ldexp(1.0, exponent - half);
    if (!more_scales_.empty()) more_scales_[l] = is_zero ? 0 : std::ldexp(1.0, half);
  }
}

int SlicedLines::most_slices() const { return *std::max_element(slices_.begin(), slices_.end()); }

std::int64_t SlicedLines::lines_of(std::int64_t panel) const {
  return std::min(layout_.lines, size_.rows - panel * layout_.lines);
}

// Packs the lowest slice directly where it is the only one; else the lowest slice is what the
// others leave.
void SlicedLines::pack(std::int64_t panel, double offset, const Kernels& kernels, double* out) {
  constexpr double unit = 0x1.8p52;
  std::int64_t size = packed_size();
  int count = slices(panel);
  pack_panels<double>(operand_,
                      {.line_begin = panel * layout_.lines,
                       .line_count = lines_of(panel),
                       .depth = size_.columns,
                       .width = layout_.width,
                       .scales = scales_,
                       .more_scales = more_scales_,
                       .offset = count == 1 ? offset : 0},
                      kernels, out);
  for (int s = count - 1; s > 0; --s)
    kernels.slice_off(out, size,
                      {.constant = std::ldexp(unit, s * bits_),
                       .scale = std::ldexp(1.0, -s * bits_),
                       .offset = offset,
                       .offset_of_rest = s == 1 ? offset : 0},
                      out + s * size);
}

}  // namespace simmesh
