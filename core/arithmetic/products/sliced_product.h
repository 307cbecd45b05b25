#pragma once

#include <cstdint>
#include <vector>

#include "core/arithmetic/products/product_request.h"
#include "core/arithmetic/products/sliced_lines.h"
#include "core/arithmetic/sums/carried_sums.h"
#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/scratch.h"
#include "core/kernels/kernels.h"

namespace simmesh {

// SliceFactors says how slices are multiplied: as integers of 52 bits, where the processor has such
// instructions (see can_multiply_integers), or as floats in chains of doubles that don't round.
enum class SliceFactors : std::uint8_t { integers, floats };

// can_multiply_integers says whether the kernels and this processor have them.
bool can_multiply_integers(const Kernels& kernels);

// SlicedProduct computes the unrounded elements of a floating product, tile by tile: the sums of
// all pairs of slices, placed into digits.
class SlicedProduct {
 public:
  // The product, with rows, columns and depth of at least 1, must outlive this object.
  SlicedProduct(const Product& product, const Kernels& kernels, SliceFactors factors);

  CarriedSums run();

 private:
  // The packed panels [first, first + count) of an operand.
  struct Packed {
    std::int64_t first = 0, count = 0;
    std::vector<double*> panels;
    std::vector<float*> float_panels;
    std::vector<std::vector<std::int64_t>> sums;  // of each stretch and line of each slice
  };

  void choose_bits();
  void pack(SlicedLines& lines, Packed& packed, Scratch& scratch, bool as_floats);
  void add_tile(const Packed& a, const Packed& b, std::int64_t row_panel,
                std::int64_t column_panel);
  void finish_tile(std::int64_t row_panel, std::int64_t column_panel);
  CarriedSums trimmed();
  CarriedSums with_long_lines(const CarriedSums& sums) const;

  const Product& product_;
  const Kernels& kernels_;
  bool integers_;
  std::int64_t row_lines_, row_width_, width_;
  SlicedLines a_, b_;
  std::int64_t stretch_;
  DigitRange range_;
  int all_digits_ = 0;
  std::vector<std::int32_t> digits_;
  std::vector<std::int64_t> tile_digits_, low_, high_, seen_;
  std::vector<double> chains_, slices_;
};

}  // namespace simmesh
