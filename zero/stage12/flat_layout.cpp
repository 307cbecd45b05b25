#include "zero/stage12/flat_layout.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh::zero {

namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::vector<std::size_t> flat_order(std::size_t count, const FlatOptions& options) {
  std::vector<std::size_t> order;
  std::size_t stride = options.round_robin ? std::size_t(options.ranks) : 1;
  for (std::size_t begin = 0; begin < stride; ++begin)
    for (std::size_t i = begin; i < count; i += stride) order.push_back(i);
  return order;
}

}  // namespace

FlatLayout::FlatLayout(gsl::span<const std::int64_t> sizes, const FlatOptions& options)
    : sizes_(sizes.begin(), sizes.end()), ranks_(options.ranks), offsets_(sizes.size()) {
  if (options.ranks < 1 || options.alignment < 1)
    raise(ErrorKind::value_error, "zero/flat_layout",
          "expected at least 1 rank and an alignment of at least 1, got {} and {}", options.ranks,
          options.alignment);
  order_ = flat_order(sizes.size(), options);
  for (std::size_t parameter : order_) {
    offsets_[parameter] = rounded_up(end_, options.alignment);
    end_ = offsets_[parameter] + sizes_[parameter];
  }
  // The factor of two keeps slices of 16-bit elements at multiples of four bytes.
  slice_numel_ = rounded_up(end_, 2 * ranks_) / ranks_;
}

std::int64_t FlatLayout::padding(std::int64_t rank) const {
  return std::clamp((rank + 1) * slice_numel_ - end_, std::int64_t(0), slice_numel_);
}

std::vector<FlatPiece> FlatLayout::pieces(std::int64_t rank) const {
  std::vector<FlatPiece> pieces;
  std::int64_t begin = rank * slice_numel_, end = begin + slice_numel_;
  for (std::size_t parameter : order_) {
    std::int64_t offset = offsets_[parameter];
    std::int64_t first = std::max(begin, offset), last = std::min(end, offset + sizes_[parameter]);
    if (first < last) pieces.push_back({parameter, first - offset, last - first, first - begin});
  }
  return pieces;
}

}  // namespace simmesh::zero
