#include "core/tensor/convert.h"

#include "core/kernels/kernels.h"
#include "core/tensor/launch.h"

namespace simmesh {

Tensor converted(const Tensor& tensor, DType dtype, InstructionSet set) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor source = tensor.contiguous();
  Tensor result = empty(tensor.shape(), dtype);
  launch("to", source, result);
  if (!result.has_elements()) return result;
  kernels_of(set).convert(int(source.dtype()), int(dtype), source.data(), result.mutable_data(),
                          source.numel());
  return result;
}

}  // namespace simmesh
