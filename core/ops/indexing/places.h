#pragma once

#include <cstdint>
#include <gsl/span>
#include <string_view>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// Kernels that move elements of plain contiguous tensors by their places. A tensor is a list of
// blocks of so many elements; place p is the p-th block, a place of -1 is passed over.
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

// check_gather raises a RuntimeError for an index that isn't within the tensor outside of dim, or
// hasn't its dims.
struct GatherTypes {
  const TensorType& x;
  const TensorType& index;
  std::int64_t dim = 0;
};
void check_gather(const GatherTypes& types, std::string_view where);

// indexed_dim returns the argument "dim" of an op that indexes a tensor of that shape.
std::int64_t indexed_dim(const Attributes& attributes, const Shape& shape);

// with_dims returns a shape; of a scalar, which is indexed like a vector of one element, [1].
Shape with_dims(const Shape& shape);

// block_after returns the number of elements of all dims after dim.
std::int64_t block_after(const Shape& shape, std::int64_t dim);

// element_places returns the places, in a tensor of that shape, that the elements of an index along
// dim mean. No other size of the index is larger than the tensor's.
Places element_places(const Shape& shape, std::int64_t dim, const Tensor& index,
                      std::string_view where);

// places_along returns the blocks that indices of a dim mean, for all elements of the dims before
// it: a block is all dims after it.
Places places_along(const Shape& shape, std::int64_t dim, const Places& indices);

// take_blocks writes block places[i] of x as block i of out. put_blocks writes block i of source as
// block places[i] of out, in ascending order.
void take_blocks(const Tensor& x, const Places& places, std::int64_t block, Tensor& out);
void put_blocks(Tensor& out, const Places& places, std::int64_t block, const Tensor& source);

// add_blocks writes x, with alpha times block i of source added to block places[i], to out: in
// ascending order, in float32 for 16-bit dtypes and int64 for integers, rounded once. In exact
// arithmetic each element is one sum, whatever the order of its terms.
struct BlockSum {
  const Tensor& x;
  const Places& places;
  std::int64_t block = 1;
  const Tensor& source;
  double alpha = 1;
};
void add_blocks(const BlockSum& sum, Tensor& out);

}  // namespace simmesh
