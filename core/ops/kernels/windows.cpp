#include "core/ops/kernels/windows.h"

#include <algorithm>
#include <cstring>

#include "core/check/error.h"

namespace simmesh {

namespace {

// One row of one window element: count elements at source + (first + i * stride), where inside of
// the width, else zero.
struct RowOfWindows {
  std::int64_t first;
  std::int64_t stride;
  std::int64_t width;
  std::int64_t count;
};

template <class Word>
void copy_row(const Word* source, const RowOfWindows& row, Word* target) {
  for (std::int64_t i = 0; i < row.count; ++i) {
    std::int64_t at = row.first + i * row.stride;
    target[i] = at >= 0 && at < row.width ? source[at] : Word(0);
  }
}

// Writes one element of the kernel, for all windows of one channel.
template <class Word>
void unfold_element(const Word* volume, const VolumeWindows& windows,
                    const VolumeWindows::Numbers& element, Word* target) {
  auto [depth, rows, columns] = windows.image;
  auto [deep, down, across] = windows.count();
  auto at = [&](std::size_t dim, std::int64_t window) {
    return window * windows.stride[dim] - windows.padding[dim] +
           element[dim] * windows.dilation[dim];
  };
  for (std::int64_t i = 0; i < deep * down; ++i) {
    std::int64_t layer = at(0, i / down), row = at(1, i % down);
    Word* to = target + i * across;
    if (layer < 0 || layer >= depth || row < 0 || row >= rows) {
      std::fill_n(to, across, Word(0));
      continue;
    }
    copy_row<Word>(
        volume + (layer * rows + row) * columns,
        {.first = at(2, 0), .stride = windows.stride[2], .width = columns, .count = across}, to);
  }
}

template <class Word>
void unfold_words(const Word* volumes, std::int64_t channels, const VolumeWindows& windows,
                  Word* target, std::int64_t row_stride) {
  const VolumeWindows::Numbers& kernel = windows.kernel;
  std::int64_t elements = windows.image[0] * windows.image[1] * windows.image[2];
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (std::int64_t k = 0; k < kernel[0] * kernel[1] * kernel[2]; ++k) {
      std::int64_t row = k / kernel[2];
      unfold_element(volumes + channel * elements, windows,
                     {row / kernel[1], row % kernel[1], k % kernel[2]}, target);
      target += row_stride;
    }
}

template <class Word>
void unfold_as(const std::byte* images, std::int64_t channels, const VolumeWindows& windows,
               const Unfolded& result) {
  unfold_words(reinterpret_cast<const Word*>(images), channels, windows,
               reinterpret_cast<Word*>(result.target), result.row_stride);
}

}  // namespace

template <std::size_t dims>
auto WindowsOf<dims>::count() const -> Numbers {
  Numbers result;
  for (std::size_t i = 0; i < dims; ++i) {
    std::int64_t room = image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    result[i] = room < 0 ? 0 : room / stride[i] + 1;
    bool begins_inside = result[i] * stride[i] < image[i] + padding[i];
    if (ceil_mode && room >= 0 && room % stride[i] != 0 && begins_inside) ++result[i];
  }
  return result;
}

template <std::size_t dims>
void WindowsOf<dims>::check(std::string_view where) const {
  for (std::size_t i = 0; i < dims; ++i) {
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0)
      raise(ErrorKind::runtime_error, where,
            "expected kernel, stride and dilation above 0 and no negative padding, got {}, {}, {} "
            "and {}",
            kernel[i], stride[i], dilation[i], padding[i]);
    if (dilation[i] * (kernel[i] - 1) + 1 > image[i] + 2 * padding[i])
      raise(ErrorKind::runtime_error, where,
            "Calculated padded input size per channel: {}. Kernel size: {}. Kernel size can't be "
            "greater than actual input size",
            image[i] + 2 * padding[i], dilation[i] * (kernel[i] - 1) + 1);
  }
}

template struct WindowsOf<2>;
template struct WindowsOf<3>;

void unfold(const std::byte* images, std::int64_t channels, DType dtype,
            const VolumeWindows& windows, const Unfolded& result) {
  switch (bytes_per_element(dtype)) {
    case 1: return unfold_as<std::uint8_t>(images, channels, windows, result);
    case 2: return unfold_as<std::uint16_t>(images, channels, windows, result);
    case 4: return unfold_as<std::uint32_t>(images, channels, windows, result);
    default: return unfold_as<std::uint64_t>(images, channels, windows, result);
  }
}

}  // namespace simmesh
