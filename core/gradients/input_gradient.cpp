#include "core/gradients/input_gradient.h"

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// Returns the dims of the gradient to sum over: those that the input lacks, and those where it has
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

Tensor summed_to_input(const GradientCall& call, std::size_t input, const Tensor& gradient) {
  const TensorType& type = call.input_type(input);
  KeepUnrounded scope(call.is_unfinished(input));
  Dims dims = broadcast_dims(gradient.shape(), type.shape);
  if (dims.empty()) return to(gradient, type.dtype);
  return to(reshape(sum(gradient, dims, true), type.shape), type.dtype);
}

Tensor product_for_input(const GradientCall& call, std::size_t input, const Tensor& a,
                         const Tensor& b) {
  const TensorType& type = call.input_type(input);
  KeepUnrounded scope(call.is_unfinished(input));
  Tensor product = a.dim() == 3 ? bmm(a, b) : mm(a, b);
  if (product.shape() != type.shape) product = reshape(product, type.shape);
  return to(product, type.dtype);
}

}  // namespace simmesh
