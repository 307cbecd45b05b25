#include "core/autograd/root_gradient.h"

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

Tensor root_gradient(const Tensor& tensor, const Tensor& given, std::size_t index) {
  if (!Variable::edge_of(tensor).node)
    raise(ErrorKind::runtime_error, "autograd/backward",
          "element {} of tensors does not require grad and does not have a grad_fn", index);
  if (given.is_defined()) {
    if (given.shape() != tensor.shape())
      raise(ErrorKind::runtime_error, "autograd/backward",
            "Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}",
            index, to_string(DimSpan(given.shape())), index, to_string(DimSpan(tensor.shape())));
    return given;
  }
  if (tensor.numel() != 1)
    raise(ErrorKind::runtime_error, "autograd/backward",
          "grad can be implicitly created only for scalar outputs, got the shape {}",
          to_string(DimSpan(tensor.shape())));
  if (tensor.distribution()) return ones_like(tensor.detach());
  return full(tensor.shape(), tensor.dtype(), 1.0);
}

}  // namespace simmesh
