#include "core/nn/batch_norm.h"

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/neural/batch_normalization.h"

namespace simmesh::nn {

namespace {

Tensor one_a_feature(const BatchNorm::Options& options, double value) {
  Tensor tensor = new_parameter(Dims{options.features}, options.parameters);
  constant_(tensor, value);
  return tensor;
}

}  // namespace

BatchNorm::BatchNorm(const Options& options, const Dimensions& dims)
    : options_(options), dims_(dims) {
  if (options_.affine) {
    register_parameter("weight", one_a_feature(options_, 1));
    register_parameter("bias", one_a_feature(options_, 0));
  }
  if (!options_.track_running_stats) return;
  register_buffer("running_mean", one_a_feature(options_, 0));
  register_buffer("running_var", one_a_feature(options_, 1));
  Tensor tracked =
      new_parameter(Dims{}, {.dtype = DType::int64, .device = options_.parameters.device});
  constant_(tracked, 0);
  register_buffer("num_batches_tracked", tracked);
}

Tensors BatchNorm::forward(const Tensors& inputs) {
  const Tensor& x = inputs[0];
  if (x.dim() < dims_.least || x.dim() > dims_.most)
    raise(ErrorKind::value_error, "nn/batch_norm", "expected {}D to {}D input (got {}D input)",
          dims_.least, dims_.most, x.dim());
  simmesh::BatchNorm norm = {.training = is_training() || !options_.track_running_stats,
                             .momentum = options_.momentum,
                             .eps = options_.eps};
  if (options_.affine) {
    norm.weight = parameter("weight");
    norm.bias = parameter("bias");
  }
  if (options_.track_running_stats) {
    norm.running_mean = buffers()[0].tensor;
    norm.running_var = buffers()[1].tensor;
  }
  Tensor result = batch_norm(x, norm);
  if (is_training() && options_.track_running_stats) {
    NoGrad scope;
    add_(buffers()[2].tensor, 1);
  }
  return {result};
}

}  // namespace simmesh::nn
