#include "checkpoint/mapping/mapped_tensor.h"

#include <numeric>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

// Bounds the pieces: each statement could double a tensor.
constexpr std::size_t pieces_max = 1 << 20;

}  // namespace

MappedTensor MappedTensor::of(const std::string& stored, DimSpan shape, DType dtype) {
  MappedPiece piece = {stored, whole(shape), whole(shape), {}};
  piece.permutation.resize(shape.size());
  std::iota(piece.permutation.begin(), piece.permutation.end(), std::size_t{0});
  return {Shape(shape.begin(), shape.end()), {dtype}, {std::move(piece)}};
}

MappedTensor MappedTensor::permuted(const std::vector<std::size_t>& permutation) const {
  MappedTensor result = *this;
  for (std::size_t i = 0; i < permutation.size(); ++i) result.shape[i] = shape[permutation[i]];
  for (std::size_t p = 0; p < pieces.size(); ++p)
    for (std::size_t i = 0; i < permutation.size(); ++i) {
      result.pieces[p].target.offsets[i] = pieces[p].target.offsets[permutation[i]];
      result.pieces[p].target.sizes[i] = pieces[p].target.sizes[permutation[i]];
      result.pieces[p].permutation[i] = pieces[p].permutation[permutation[i]];
    }
  return result;
}

bool within(MappedPiece& piece, const Box& box) {
  auto common = intersection(piece.target, box);
  if (!common) return false;
  for (std::size_t dim = 0; dim < box.sizes.size(); ++dim) {
    std::size_t stored_dim = piece.permutation[dim];
    piece.source.offsets[stored_dim] += common->offsets[dim] - piece.target.offsets[dim];
    piece.source.sizes[stored_dim] = common->sizes[dim];
  }
  piece.target = *common;
  return true;
}

MappedTensor MappedTensor::cut(std::size_t dim, std::int64_t begin, std::int64_t size) const {
  Box box = whole(shape);
  box.offsets[dim] = begin;
  box.sizes[dim] = size;
  MappedTensor result = {box.sizes, dtypes, {}};
  for (MappedPiece piece : pieces) {
    if (!within(piece, box)) continue;
    piece.target.offsets[dim] -= begin;
    result.pieces.push_back(std::move(piece));
  }
  return result;
}

MappedTensor MappedTensor::cast(DType dtype) const {
  MappedTensor result = *this;
  if (dtype != this->dtype()) result.dtypes.push_back(dtype);
  return result;
}

MappedTensor joined(const std::vector<MappedTensor>& tensors, std::size_t dim) {
  MappedTensor result = {tensors[0].shape, tensors[0].dtypes, {}};
  result.shape[dim] = 0;
  for (const MappedTensor& tensor : tensors) {
    Shape shape = tensor.shape;
    if (shape.size() == result.shape.size()) shape[dim] = result.shape[dim];
    if (shape != result.shape || tensor.dtypes != result.dtypes)
      raise(ErrorKind::value_error, "checkpoint/mapping",
            "tensors of the shapes {} and {}, or of other dtypes, can't be joined along dim {}",
            to_string(tensors[0].shape), to_string(tensor.shape), dim);
    if (result.pieces.size() + tensor.pieces.size() > pieces_max)
      raise(ErrorKind::value_error, "checkpoint/mapping",
            "a tensor joined from more than {} pieces", pieces_max);
    for (MappedPiece piece : tensor.pieces) {
      piece.target.offsets[dim] += result.shape[dim];
      result.pieces.push_back(std::move(piece));
    }
    if (__builtin_add_overflow(result.shape[dim], tensor.shape[dim], &result.shape[dim]))
      raise(ErrorKind::value_error, "checkpoint/mapping",
            "tensors joined along dim {} have more than 2^63 elements there", dim);
  }
  return result;
}

}  // namespace simmesh::checkpoint
