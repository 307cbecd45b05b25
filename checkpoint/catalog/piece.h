#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/box.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/store/store.h"

namespace simmesh::checkpoint {

// part_of returns a view of a box of a tensor's elements.
Tensor part_of(const Tensor& tensor, const Box& box);

// Piece is a box of a tensor in a rank's memory. `part` is a view of its elements.
struct Piece {
  Box box;
  Tensor part;
};

// LocalTensor is a rank's share of one tensor of a state dict. It has no pieces without elements.
struct LocalTensor {
  std::string name;
  Shape shape;  // of the whole tensor
  DType dtype = DType::float32;
  std::vector<Piece> pieces;
};

// local_tensor returns a rank's pieces of a value. They are views: a write into a part changes the
// value. Raises a ValueError that names the tensor for partial placements.
LocalTensor local_tensor(const std::string& name, const Tensor& tensor);
LocalTensor local_tensor(const std::string& name, const FlatShard& shard);

// local_tensors returns a rank's share of each tensor of a state dict, in order.
std::vector<LocalTensor> local_tensors(const StateDict& state);

// packed returns the elements of a part, row-major.
std::vector<std::byte> packed(const Tensor& part);

// unpack writes row-major elements into a part, through its strides.
void unpack(Bytes bytes, Tensor& part);

}  // namespace simmesh::checkpoint
