#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/ops/op.h"

namespace simmesh {

// RowsColumns is a number for the rows and one for the columns of an image.
using RowsColumns = std::array<std::int64_t, 2>;

// Windows describe how a kernel slides over images of a size: window (i, j) has its elements at
// rows i * stride - padding + k * dilation, and columns likewise.
struct Windows {
  RowsColumns image = {0, 0};
  RowsColumns kernel = {1, 1};
  RowsColumns stride = {1, 1};
  RowsColumns padding = {0, 0};
  RowsColumns dilation = {1, 1};
  bool ceil_mode = false;  // True if the last window may reach beyond the padded image.

  // count is the number of windows along rows and columns that fit into the padded image; in ceil
  // mode also a last one that doesn't fit, if it begins within the image or the padding before it.
  RowsColumns count() const;
  // check raises a RuntimeError for a stride, kernel or dilation below one, a padding below zero,
  // or where no window fits.
  void check(std::string_view where) const;
};

// unfold writes the elements of all windows of contiguous images[channels, rows, columns] as
// columns of a matrix [channels * kernel, windows], zeros for padding: element (r, c) at target +
// r * row_stride + c, in elements.
struct Unfolded {
  std::byte* target;
  std::int64_t row_stride;
};
void unfold(const std::byte* images, std::int64_t channels, DType dtype, const Windows& windows,
            const Unfolded& result);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Dims> stride{"stride"};
inline constexpr Attribute<Dims> padding{"padding"};
}  // namespace attribute

}  // namespace simmesh
