#pragma once

#include <functional>

#include "checkpoint/mapping/mapped_tensor.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// ReadBox returns the row-major elements of a box of a stored tensor.
using ReadBox = std::function<Tensor(const std::string& stored, const Box& box)>;

// load_mapped returns a box of a mapped tensor: contiguous, with the mapped tensor's dtype. Just
// the parts of stored tensors that the box is made of are read, each rounded as the mapping says.
Tensor load_mapped(const MappedTensor& tensor, const Box& box, const ReadBox& read_box);

}  // namespace simmesh::checkpoint
