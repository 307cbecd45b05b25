#pragma once

#include <optional>
#include <vector>

#include "core/tensor/shape.h"

namespace simmesh::checkpoint {

using simmesh::to_string;

// Box is a block of a tensor's indices: [offsets[d], offsets[d] + sizes[d]) in each dim d. A tensor
// without dims has one box, of one element.
struct Box {
  Dims offsets;
  Shape sizes;

  bool operator==(const Box&) const = default;

  bool is_empty() const;
  std::int64_t numel() const { return simmesh::numel(sizes); }
  // end returns the first index of a dim after the box.
  std::int64_t end(std::size_t dim) const { return offsets[dim] + sizes[dim]; }
};

// whole returns the box of all indices of a tensor.
Box whole(DimSpan shape);

// is_within is true if a box is within a tensor of that shape; false if its sums overflow.
bool is_within(const Box& box, DimSpan shape);

// intersection returns the common box of two boxes of one tensor; nullopt if they share no element.
std::optional<Box> intersection(const Box& a, const Box& b);

// relative_to returns a box with offsets that count from those of another box, which contains it.
Box relative_to(const Box& box, const Box& outer);

// to_string returns "[2, 0]+[3, 4]": offsets, then sizes.
std::string to_string(const Box& box);

// element_offset returns the place of an index in memory, in elements, at the strides. There may be
// more strides than the index has dims.
std::int64_t element_offset(DimSpan index, DimSpan strides);

// contiguous_blocks cuts a box into blocks of at most elements_max elements, at least one. Each
// block is a run of the box's elements in row-major order, and the blocks follow each other. A box
// without elements has no blocks.
std::vector<Box> contiguous_blocks(const Box& box, std::int64_t elements_max);

// BoxCopy describes a copy of the elements of a box from one block of memory to another.
struct BoxCopy {
  Shape sizes;
  std::size_t element_bytes = 1;
  Strides from_strides, to_strides;  // in elements
  bool past_caches = false;          // see stream_copy
};

// copy_box copies the elements. `from` and `to` point to the first one. Runs that are contiguous on
// both sides are copied at once.
void copy_box(const BoxCopy& copy, const std::byte* from, std::byte* to);

}  // namespace simmesh::checkpoint
