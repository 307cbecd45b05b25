#include "core/nn/convolution.h"

#include <cmath>

#include "core/ops/functions/default_generator.h"
#include "core/ops/neural/convolution.h"

namespace simmesh::nn {

Conv2d::Conv2d(const Options& options)
    : stride_(options.stride), padding_(options.padding), has_bias_(options.bias) {
  Dims shape{options.out, options.in, options.size, options.size};
  Tensor weight = new_parameter(shape, options.parameters);
  kaiming_uniform_(weight, std::sqrt(5.0), default_generator().next());
  register_parameter("weight", weight);
  if (!has_bias_) return;
  Tensor bias = new_parameter(Dims{options.out}, options.parameters);
  double bound = 1.0 / std::sqrt(double(options.in * options.size * options.size));
  uniform_(bias, {-bound, bound}, default_generator().next());
  register_parameter("bias", bias);
}

Tensors Conv2d::forward(const Tensors& inputs) {
  return {conv2d(inputs[0], parameter("weight"), has_bias_ ? parameter("bias") : Tensor(),
                 {.stride = {stride_, stride_}, .padding = {padding_, padding_}})};
}

}  // namespace simmesh::nn
