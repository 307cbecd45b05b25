#include "core/ops/gradient_call.h"

namespace simmesh {

const Tensor& GradientCall::input(std::size_t index) const {
  const Tensor& saved = parts_.inputs[index];
  SIMMESH_CHECK(saved.is_defined() || !parts_.input_types[index].is_defined,
                "the gradient of {} reads its input {}, which it doesn't save", parts_.op.name,
                index);
  return saved;
}

const Tensor& GradientCall::output(std::size_t index) const {
  const Tensor& saved = parts_.outputs[index];
  SIMMESH_CHECK(saved.is_defined(), "the gradient of {} reads its output {}, which it doesn't save",
                parts_.op.name, index);
  return saved;
}

Tensor GradientCall::gradient(std::size_t index) const {
  const Tensor& given = parts_.gradients[index];
  if (given.is_defined()) return given;
  const TensorType& type = parts_.output_types[index];
  return zeros(type.shape, type.dtype);
}

}  // namespace simmesh
