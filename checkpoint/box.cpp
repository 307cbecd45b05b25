#include "checkpoint/box.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

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

void copy_box(const BoxCopy& copy, const std::byte* from, std::byte* to) {
  Shape outer = copy.sizes;
  std::int64_t run = 1;
  while (!outer.empty()) {
    std::size_t dim = outer.size() - 1;
    if (outer[dim] != 1 && (copy.from_strides[dim] != run || copy.to_strides[dim] != run)) break;
    run *= outer[dim];
    outer.pop_back();
  }
  if (run == 0 || simmesh::element_count(outer) == 0) return;
  std::size_t bytes = std::size_t(run) * copy.element_bytes;
  Dims index(outer.size(), 0);
  do {
    std::int64_t source = element_offset(index, copy.from_strides);
    std::int64_t target = element_offset(index, copy.to_strides);
    std::memcpy(to + std::size_t(target) * copy.element_bytes,
                from + std::size_t(source) * copy.element_bytes, bytes);
  } while (next_index(index, outer));
}

}  // namespace simmesh::checkpoint
