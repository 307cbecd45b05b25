#pragma once

#include <functional>

#include "checkpoint/mapping/mapped_tensor.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// ReadBox returns the row-major elements of a box of a stored tensor.
using ReadBox = std::function<Tensor(const std::string& stored, const Box& box)>;

// load_mapped returns a box of a mapped tensor, contiguous and in the mapped tensor's dtype. It
// reads only the parts of stored tensors that the box needs, and rounds each as the mapping says.
Tensor load_mapped(const MappedTensor& tensor, const Box& box, const ReadBox& read_box);

}  // namespace simmesh::checkpoint
