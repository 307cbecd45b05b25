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

template <class Word>
void unfold_words(const Word* images, std::int64_t channels, const Windows& windows, Word* target,
                  std::int64_t row_stride) {
  auto [rows, columns] = windows.image;
  auto [down, across] = windows.count();
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (std::int64_t k = 0; k < windows.kernel[0] * windows.kernel[1]; ++k) {
      std::int64_t kernel_row = k / windows.kernel[1], kernel_column = k % windows.kernel[1];
      for (std::int64_t i = 0; i < down; ++i) {
        std::int64_t row =
            i * windows.stride[0] - windows.padding[0] + kernel_row * windows.dilation[0];
        Word* to = target + i * across;
        if (row < 0 || row >= rows) {
          std::fill_n(to, across, Word(0));
          continue;
        }
        copy_row<Word>(images + (channel * rows + row) * columns,
                       {.first = kernel_column * windows.dilation[1] - windows.padding[1],
                        .stride = windows.stride[1],
                        .width = columns,
                        .count = across},
                       to);
      }
      target += row_stride;
    }
}

template <class Word>
void unfold_as(const std::byte* images, std::int64_t channels, const Windows& windows,
               const Unfolded& result) {
  unfold_words(reinterpret_cast<const Word*>(images), channels, windows,
               reinterpret_cast<Word*>(result.target), result.row_stride);
}

}  // namespace

RowsColumns Windows::count() const {
  RowsColumns result;
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t room = image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    result[i] = room < 0 ? 0 : room / stride[i] + 1;
    bool begins_inside = result[i] * stride[i] < image[i] + padding[i];
    if (ceil_mode && room >= 0 && room % stride[i] != 0 && begins_inside) ++result[i];
  }
  return result;
}

void Windows::check(std::string_view where) const {
  for (std::size_t i = 0; i < 2; ++i) {
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

void unfold(const std::byte* images, std::int64_t channels, DType dtype, const Windows& windows,
            const Unfolded& result) {
  switch (bytes_per_element(dtype)) {
    case 1: return unfold_as<std::uint8_t>(images, channels, windows, result);
    case 2: return unfold_as<std::uint16_t>(images, channels, windows, result);
    case 4: return unfold_as<std::uint32_t>(images, channels, windows, result);
    default: return unfold_as<std::uint64_t>(images, channels, windows, result);
  }
}

}  // namespace simmesh
