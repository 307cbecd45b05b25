#pragma once

#include <cstdint>
#include <gsl/span>

#include "core/arithmetic/products/product_request.h"
#include "core/kernels/kernels.h"

namespace simmesh {

// Panels cut an operand of a product into panels of width lines (rows of a, columns of b): element
// k of line l of panel p is at out + (p * depth + k) * width + l. Missing lines of the last panel
// are zeros.
struct Panels {
  std::int64_t line_begin = 0;
  std::int64_t line_count = 0;
  std::int64_t depth_begin = 0;
  std::int64_t depth = 0;
  std::int64_t width = 0;
  // Where given, lines are multiplied by scales[line], then by more_scales[line] (of float64);
  // elements that aren't finite become zeros.
  gsl::span<const double> scales = {};
  gsl::span<const double> more_scales = {};
  // Added to each scaled element, and the value of missing lines.
  double offset = 0;

  std::int64_t elements() const { return (line_count + width - 1) / width * width * depth; }
};

// pack_panels copies the panels of an operand whose rows are the lines, widened to T: float or
// double.
template <class T>
void pack_panels(const ProductOperand& operand, const Panels& panels, const Kernels& kernels,
                 T* out);

}  // namespace simmesh
