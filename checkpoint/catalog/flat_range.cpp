#include "checkpoint/catalog/flat_range.h"

#include <algorithm>

namespace simmesh::checkpoint {

namespace {

// Adds the boxes of a range within one row: `prefix` is the index in all dims before `dim`.
void add_boxes(DimSpan shape, const Dims& prefix, FlatRange range, std::vector<Box>& boxes) {
  std::size_t dim = prefix.size();
  auto add = [&](std::int64_t offset, std::int64_t size) {
    Box box = {prefix, Shape(dim, 1)};
    box.offsets.push_back(offset);
    box.sizes.push_back(size);
    for (std::size_t inner = dim + 1; inner < shape.size(); ++inner) {
      box.offsets.push_back(0);
      box.sizes.push_back(shape[inner]);
    }
    boxes.push_back(std::move(box));
  };
  std::int64_t row = 1;
  for (std::size_t inner = dim + 1; inner < shape.size(); ++inner) row *= shape[inner];
  auto within_row = [&](std::int64_t index, FlatRange part) {
    Dims longer = prefix;
    longer.push_back(index);
    add_boxes(shape, longer, part, boxes);
  };
  std::int64_t first = range.begin / row, head = range.begin % row;
  if (head != 0) {
    std::int64_t end = std::min(range.end - first * row, row);
    within_row(first, {head, end});
    range.begin = first * row + end;
    if (range.begin == range.end) return;
    ++first;
  }
  std::int64_t last = range.end / row, tail = range.end % row;
  if (last > first) add(first, last - first);
  if (tail != 0) within_row(last, {0, tail});
}

}  // namespace

std::vector<Box> boxes_of_range(DimSpan shape, const FlatRange& range) {
  std::vector<Box> boxes;
  if (range.numel() <= 0) return boxes;
  if (shape.empty()) return {whole(shape)};
  add_boxes(shape, {}, range, boxes);
  return boxes;
}

}  // namespace simmesh::checkpoint
