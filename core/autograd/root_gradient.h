#pragma once

#include <cstddef>

#include "core/tensor/tensor.h"

namespace simmesh {

// root_gradient returns the gradient with which a backward pass starts at a tensor: the given one,
// or ones for a tensor of one element. Raises a RuntimeError that names the tensor's index, for
// another shape and for a tensor that requires no gradient.
Tensor root_gradient(const Tensor& tensor, const Tensor& given, std::size_t index);

}  // namespace simmesh
