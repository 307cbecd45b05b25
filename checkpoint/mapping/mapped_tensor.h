#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/box.h"
#include "checkpoint/catalog/stored_dtype.h"

namespace simmesh::checkpoint {

// MappedPiece is a box of a mapped tensor that is made of a box of a stored one. Dim i of the piece
// is dim permutation[i] of the stored tensor.
struct MappedPiece {
  std::string stored;
  Box source;  // in the stored tensor, by its dims
  Box target;  // in the mapped tensor, by its dims
  std::vector<std::size_t> permutation;
};

// MappedTensor describes a tensor that is made of stored ones, without any elements. Its pieces
// don't overlap, and cover it.
struct MappedTensor {
  Shape shape;
  // The dtypes to which it is rounded, one after the other. The first is the stored dtype.
  std::vector<DType> dtypes;
  std::vector<MappedPiece> pieces;

  DType dtype() const { return dtypes.back(); }

  // of returns a stored tensor as it is.
  static MappedTensor of(const std::string& stored, DimSpan shape, DType dtype);

  // permuted returns the tensor whose dim i is dim permutation[i] of this one. cut returns the
  // range [begin, begin + size) of a dim.
  MappedTensor permuted(const std::vector<std::size_t>& permutation) const;
  MappedTensor cut(std::size_t dim, std::int64_t begin, std::int64_t size) const;
  MappedTensor cast(DType dtype) const;
};

// joined returns tensors joined along a dim. Raises a ValueError if other sizes or the dtypes
// differ, and for more pieces or elements than any tensor has.
MappedTensor joined(const std::vector<MappedTensor>& tensors, std::size_t dim);

// within cuts a piece down to its part in a box of the mapped tensor. It is false if there is none.
bool within(MappedPiece& piece, const Box& box);

}  // namespace simmesh::checkpoint
