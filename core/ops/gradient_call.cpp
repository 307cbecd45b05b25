#include "core/ops/gradient_call.h"

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// The dims of the gradient that are summed: those the input doesn't have, and those where it has
// size one.
Dims broadcast_dims(const Shape& gradient, const Shape& input) {
  Dims dims;
  std::size_t added = gradient.size() - input.size();
  for (std::size_t dim = 0; dim < gradient.size(); ++dim)
    if (dim < added || (input[dim - added] == 1 && gradient[dim] != 1))
      dims.push_back(std::int64_t(dim));
  return dims;
}

}  // namespace

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

Tensor summed_to_input(const GradientCall& call, std::size_t input, const Tensor& gradient) {
  const TensorType& type = call.input_type(input);
  UnroundedSums scope(call.is_unfinished(input));
  Dims dims = broadcast_dims(gradient.shape(), type.shape);
  if (dims.empty()) return to(gradient, type.dtype);
  return to(reshape(sum(gradient, dims, true), type.shape), type.dtype);
}

Tensor product_for_input(const GradientCall& call, std::size_t input, const Tensor& a,
                         const Tensor& b) {
  UnroundedSums scope(call.is_unfinished(input));
  return to(mm(a, b), call.input_type(input).dtype);
}

}  // namespace simmesh
