#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/box.h"
#include "checkpoint/catalog/stored_dtype.h"

namespace simmesh::checkpoint {

// MappedPiece is a box of a tensor that is made of a box of a stored one: dim i of the piece is dim
// permutation[i] of the stored tensor.
struct MappedPiece {
  std::string stored;
  Box source;  // in the stored tensor, by its dims
  Box target;  // in the mapped tensor, by its dims
  std::vector<std::size_t> permutation;
};

// MappedTensor is a tensor made of stored ones, without their elements: what is loaded of it tells
// what to read. Pieces don't overlap and leave nothing out.
struct MappedTensor {
  Shape shape;
  // What it is rounded to, one after the other; the first is the dtype in which it is stored.
  std::vector<DType> dtypes;
  std::vector<MappedPiece> pieces;

  DType dtype() const { return dtypes.back(); }

  // of is a stored tensor as it is.
  static MappedTensor of(const std::string& stored, DimSpan shape, DType dtype);

  // permuted returns the tensor whose dim i is dim permutation[i] of this one; cut the range
  // [begin, begin + size) of a dim.
  MappedTensor permuted(const std::vector<std::size_t>& permutation) const;
  MappedTensor cut(std::size_t dim, std::int64_t begin, std::int64_t size) const;
  MappedTensor cast(DType dtype) const;
};

// joined puts tensors one behind the other along a dim. The other sizes, and what they are rounded
// to, must be equal: raises a ValueError, also for more pieces or elements than any tensor has.
MappedTensor joined(const std::vector<MappedTensor>& tensors, std::size_t dim);

// within returns the part of a piece that lies in a box of the mapped tensor; false where there is
// none.
bool within(MappedPiece& piece, const Box& box);

}  // namespace simmesh::checkpoint
