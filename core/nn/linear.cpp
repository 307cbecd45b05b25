#include "core/nn/linear.h"

#include <cmath>

#include "core/ops/functions/default_generator.h"
#include "core/ops/matrices/products.h"

namespace simmesh::nn {

Linear::Linear(const Options& options) : has_bias_(options.bias) {
  Tensor weight = new_parameter(Dims{options.out, options.in}, options.parameters);
  kaiming_uniform_(weight, std::sqrt(5.0), default_generator().next());
  register_parameter("weight", weight);
  if (!has_bias_) return;
  Tensor bias = new_parameter(Dims{options.out}, options.parameters);
  double bound = options.in > 0 ? 1.0 / std::sqrt(double(options.in)) : 0.0;
  uniform_(bias, {-bound, bound}, default_generator().next());
  register_parameter("bias", bias);
}

Tensors Linear::forward(const Tensors& inputs) {
  return {linear(inputs[0], parameter("weight"), has_bias_ ? parameter("bias") : Tensor())};
}

}  // namespace simmesh::nn
