#pragma once

#include <cstdint>
#include <vector>

#include "core/arithmetic/products/exact_elements.h"
#include "core/arithmetic/products/product_request.h"
#include "core/kernels/kernels.h"

namespace simmesh {

// SlicedLines are the rows of a floating operand as integers times a power of two, cut into slices:
// element k of line l is the sum over s of slice s times 2^(lowest[l] + s * bits). Panels of lines
// are packed for the kernels, so that products of slices can be added up exactly.
class SlicedLines {
 public:
  struct Layout {
    std::int64_t lines = 0;      // of a panel
    std::int64_t width = 0;      // of a packed panel
    bool shares_lowest = false;  // all lines of a panel have one `lowest`
  };
  static constexpr int slices_max = 6;

  SlicedLines(const ProductOperand& operand, const MatrixSize& size, const Layout& layout,
              const Kernels& kernels);

  // span is the largest number of bits of a line that isn't long, at least that of slices_max
  // slices.
  int span(int bits) const;

  // cut sets the number of bits of a slice, besides the sign. Everything below is known afterwards.
  void cut(int bits);

  // Covers all lines but the long ones, which have too many bits or an infinity or NaN; those count
  // as zeros.
  const LineBits& all() const { return all_; }
  const std::vector<std::int64_t>& long_lines() const { return long_lines_; }
  int bits() const { return bits_; }
  int lowest(std::int64_t line) const { return lowest_[std::size_t(line)]; }
  int slices(std::int64_t panel) const { return slices_[std::size_t(panel)]; }
  int most_slices() const;
  std::int64_t panels() const { return std::int64_t(slices_.size()); }
  std::int64_t lines_of(std::int64_t panel) const;
  // packed_size is the number of doubles of one slice of a panel.
  std::int64_t packed_size() const { return size_.columns * layout_.width; }

  // pack writes the slices of a panel one after the other, each element with an offset added.
  void pack(std::int64_t panel, double offset, const Kernels& kernels, double* out);

 private:
  bool joins(const LineBits& line, LineBits& panel) const;

  ProductOperand operand_;
  MatrixSize size_;
  Layout layout_;
  std::vector<LineBits> lines_;
  int bits_ = 0;
  LineBits all_;
  std::vector<std::int64_t> long_lines_;
  std::vector<int> lowest_, slices_;
  std::vector<double> scales_, more_scales_;
};

}  // namespace simmesh
