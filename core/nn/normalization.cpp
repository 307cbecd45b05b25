#include "core/nn/normalization.h"

#include "core/ops/neural/normalization.h"

namespace simmesh::nn {

namespace {

Tensor filled(std::int64_t width, const ParameterOptions& options, double value) {
  Tensor tensor = new_parameter(Dims{width}, options);
  constant_(tensor, value);
  return tensor;
}

}  // namespace

LayerNorm::LayerNorm(const Options& options) : eps_(options.eps) {
  register_parameter("weight", filled(options.width, options.parameters, 1.0));
  register_parameter("bias", filled(options.width, options.parameters, 0.0));
}

Tensors LayerNorm::forward(const Tensors& inputs) {
  const Tensor& weight = parameter("weight");
  return {layer_norm(inputs[0], weight.shape(), weight, parameter("bias"), eps_)};
}

RMSNorm::RMSNorm(const Options& options) : eps_(options.eps) {
  register_parameter("weight", filled(options.width, options.parameters, 1.0));
}

Tensors RMSNorm::forward(const Tensors& inputs) {
  const Tensor& weight = parameter("weight");
  return {rms_norm(inputs[0], weight.shape(), weight, eps_)};
}

}  // namespace simmesh::nn
