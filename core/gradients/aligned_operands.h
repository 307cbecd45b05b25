#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh {

// aligned_operands returns distributed operands of a gradient in the layout in which PyTorch's
// operator takes them, each redistributed at most once; `of` is that of gradient_operands. Plain
// tensors come back as they are, and so do all while gradients are recorded: then each op of the
// gradient chooses for itself.
std::vector<Tensor> aligned_operands(std::vector<Tensor> operands, const char* of);

}  // namespace simmesh
