#include "core/ops/op.h"

namespace simmesh {

TensorType type_of(const Tensor& tensor) {
  return {tensor.shape(), tensor.dtype(), tensor.is_defined()};
}

TensorTypes types_of(gsl::span<const Tensor> tensors) {
  TensorTypes types;
  types.reserve(tensors.size());
  for (const Tensor& tensor : tensors) types.push_back(type_of(tensor));
  return types;
}

}  // namespace simmesh
