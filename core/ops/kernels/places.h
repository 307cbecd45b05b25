#pragma once

#include <cstdint>
#include <gsl/span>
#include <string_view>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// Kernels that move elements of plain contiguous tensors by their places. A tensor is read as a
// list of blocks, each of the same number of elements; place p is the p-th block, and a place of -1
// is skipped.
using Places = std::vector<std::int64_t>;

// IndexRule says what an index tensor indexes, and whether indices below zero count from the end.
struct IndexRule {
  std::int64_t dim = 0;
  std::int64_t size = 0;
  bool wraps = false;
  std::string_view where;
};
// checked_indices returns the row-major elements of an index tensor of dtype int64 or int32. Raises
// an IndexError for one out of range.
Places checked_indices(const Tensor& index, const IndexRule& rule);

// check_index_type raises an IndexError for an index tensor of another dtype.
void check_index_type(const TensorType& index, std::string_view where);

// check_index_vector raises an IndexError for an index that has dims beyond one, or another dtype.
void check_index_vector(const TensorType& index, std::string_view where);

// check_gather raises a RuntimeError for an index that has another number of dims than the tensor,
// or that is larger along a dim other than `dim`.
struct GatherTypes {
  const TensorType& x;
  const TensorType& index;
  std::int64_t dim = 0;
};
void check_gather(const GatherTypes& types, std::string_view where);

// indexed_dim returns the argument "dim" of an op that indexes a tensor of that shape.
std::int64_t indexed_dim(const Attributes& attributes, const Shape& shape);

// with_dims returns the shape under which a tensor is indexed: its own, and [1] for a scalar.
Shape with_dims(const Shape& shape);

// block_after returns the number of elements of all dims after dim.
std::int64_t block_after(const Shape& shape, std::int64_t dim);

// element_places returns the places, in a tensor of that shape, that the elements of an index along
// dim refer to. Along other dims the index is at most as large as the tensor.
Places element_places(const Shape& shape, std::int64_t dim, const Tensor& index,
                      std::string_view where);

// places_along returns the blocks that indices of a dim refer to, for all elements of the dims
// before it. A block holds all dims after it.
Places places_along(const Shape& shape, std::int64_t dim, const Places& indices);

// take_blocks writes block places[i] of x as block i of out. put_blocks writes block i of source as
// block places[i] of out, in ascending order.
void take_blocks(const Tensor& x, const Places& places, std::int64_t block, Tensor& out);
void put_blocks(Tensor& out, const Places& places, std::int64_t block, const Tensor& source);

}  // namespace simmesh
