#include "checkpoint/catalog/box.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "core/tensor/strided_copy.h"

namespace simmesh::checkpoint {

bool Box::is_empty() const {
  return std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size == 0; });
}

Box whole(DimSpan shape) { return {Dims(shape.size(), 0), Shape(shape.begin(), shape.end())}; }

bool is_within(const Box& box, DimSpan shape) {
  if (box.offsets.size() != shape.size() || box.sizes.size() != shape.size()) return false;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::int64_t offset = box.offsets[dim], size = box.sizes[dim];
    if (offset < 0 || size < 0 || offset > shape[dim] || size > shape[dim] - offset) return false;
  }
  return true;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box common;
  for (std::size_t dim = 0; dim < a.sizes.size(); ++dim) {
    std::int64_t begin = std::max(a.offsets[dim], b.offsets[dim]);
    std::int64_t end = std::min(a.end(dim), b.end(dim));
    if (begin >= end) return std::nullopt;
    common.offsets.push_back(begin);
    common.sizes.push_back(end - begin);
  }
  return common;
}

Box relative_to(const Box& box, const Box& outer) {
  Box inner = box;
  for (std::size_t dim = 0; dim < box.sizes.size(); ++dim) inner.offsets[dim] -= outer.offsets[dim];
  return inner;
}

std::string to_string(const Box& box) {
  return fmt::format("{}+{}", simmesh::to_string(box.offsets), simmesh::to_string(box.sizes));
}

std::int64_t element_offset(DimSpan index, DimSpan strides) {
  return std::inner_product(index.begin(), index.end(), strides.begin(), std::int64_t{0});
}

std::vector<Box> contiguous_blocks(const Box& box, std::int64_t elements_max) {
  if (box.is_empty()) return {};
  if (box.sizes.empty()) return {box};
  // The first dim of which one index, with all later dims, fits into a block.
  std::size_t dim = 0;
  std::int64_t row = box.numel() / box.sizes[0];
  while (row > elements_max) row /= box.sizes[++dim];
  std::int64_t rows = std::max<std::int64_t>(elements_max / row, 1);
  Shape cuts(box.sizes.begin(), box.sizes.begin() + std::ptrdiff_t(dim) + 1);
  cuts[dim] = (box.sizes[dim] + rows - 1) / rows;
  std::vector<Box> blocks;
  Dims index(cuts.size(), 0);
  do {
    Box block = box;
    for (std::size_t i = 0; i < dim; ++i) {
      block.offsets[i] += index[i];
      block.sizes[i] = 1;
    }
    block.offsets[dim] += index[dim] * rows;
    block.sizes[dim] = std::min(rows, box.sizes[dim] - index[dim] * rows);
    blocks.push_back(std::move(block));
  } while (next_index(index, cuts));
  return blocks;
}

void copy_box(const BoxCopy& copy, const std::byte* from, std::byte* to) {
  StridedCopy strided(copy.to_strides, copy.from_strides, copy.sizes, copy.element_bytes);
  if (copy.past_caches)
    strided.past_caches(to, from);
  else
    strided(to, from);
}

}  // namespace simmesh::checkpoint
