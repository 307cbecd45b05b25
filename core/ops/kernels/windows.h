#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/ops/op.h"

namespace simmesh {

// RowsColumns is a number for the rows and one for the columns of an image.
using RowsColumns = std::array<std::int64_t, 2>;

// WindowsOf describe how a kernel slides over images of a size, with that many dims: window i along
// a dim has its elements at i * stride - padding + k * dilation.
template <std::size_t dims>
struct WindowsOf {
  using Numbers = std::array<std::int64_t, dims>;

  Numbers image = same(0);
  Numbers kernel = same(1);
  Numbers stride = same(1);
  Numbers padding = same(0);
  Numbers dilation = same(1);
  bool ceil_mode = false;  // True if the last window may reach beyond the padded image.

  // count is the number of windows along each dim that fit into the padded image; in ceil mode also
  // a last one that doesn't fit, if it begins within the image or the padding before it.
  Numbers count() const;
  // check raises a RuntimeError for a stride, kernel or dilation below one, a padding below zero,
  // or where no window fits.
  void check(std::string_view where) const;

  static constexpr Numbers same(std::int64_t number) {
    Numbers numbers{};
    for (std::int64_t& one : numbers) one = number;
    return numbers;
  }
};

// Windows slide over the rows and columns of images, VolumeWindows over depth, rows and columns.
using Windows = WindowsOf<2>;
using VolumeWindows = WindowsOf<3>;

// unfold writes the elements of all windows of contiguous volumes[channels, depth, rows, columns]
// as columns of a matrix [channels * kernel, windows], zeros for padding: element (r, c) at target
// + r * row_stride + c, in elements.
struct Unfolded {
  std::byte* target;
  std::int64_t row_stride;
};
void unfold(const std::byte* images, std::int64_t channels, DType dtype,
            const VolumeWindows& windows, const Unfolded& result);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Dims> stride{"stride"};
inline constexpr Attribute<Dims> padding{"padding"};
}  // namespace attribute

}  // namespace simmesh
