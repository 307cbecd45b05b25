#pragma once

#include "core/arithmetic/philox.h"
#include "core/tensor/chunk.h"

namespace simmesh::nn {

// BatchRows says that this rank's activations are, along dim 0, some rows of a larger batch. In its
// scope Dropout draws for them what one device draws for these rows of the whole batch, so that no
// split of a batch over ranks changes a bit. All ranks must hold equal default generators.
//
//   nn::BatchRows scope({.start = 4, .length = 2}, 8);   // rows 4 and 5 of 8
class BatchRows {
 public:
  BatchRows(const Chunk& rows, std::int64_t total);
  ~BatchRows();
  BatchRows(const BatchRows&) = delete;
  BatchRows& operator=(const BatchRows&) = delete;

  // shard_of returns the part of the whole batch's tensor that a tensor of this shape is: all of it
  // outside any scope. Raises a ValueError for a shape whose dim 0 isn't the rows of the scope.
  static ShardOfTensor shard_of(const Shape& shape);

 private:
  Chunk rows_;
  std::int64_t total_;
  const BatchRows* outer_;
};

}  // namespace simmesh::nn
