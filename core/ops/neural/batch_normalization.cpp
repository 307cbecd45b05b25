#include "core/ops/neural/batch_normalization.h"

#include <cmath>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/op_list.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

constexpr const char* vector_names[] = {"input", "weight", "bias", "running_mean", "running_var"};

TensorTypes batch_norm_types(gsl::span<const TensorType> inputs, const Attributes& attributes) {
  const TensorType& x = inputs[0];
  if (x.shape.size() < 2)
    raise(ErrorKind::runtime_error, "batch_norm",
          "Expected at least 2 dimensions for input tensor but received {}", x.shape.size());
  if (!is_floating_point(x.dtype))
    raise(ErrorKind::not_implemented_error, "batch_norm", "not implemented for '{}'",
          to_string(x.dtype));
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].is_defined && inputs[i].shape != Shape{x.shape[1]})
      raise(ErrorKind::runtime_error, "batch_norm",
            "{} should contain {} elements, one a channel, got the shape {}", vector_names[i],
            x.shape[1], to_string(DimSpan(inputs[i].shape)));
  bool training = attributes.get(attribute::training);
  if (!training && !(inputs.size() == 5 && inputs[3].is_defined && inputs[4].is_defined))
    raise(ErrorKind::runtime_error, "batch_norm",
          "Expected running_mean and running_var to be defined when training=False");
  std::int64_t values = x.shape[1] == 0 ? 0 : numel(x.shape) / x.shape[1];
  if (training && values == 1)
    raise(ErrorKind::value_error, "batch_norm",
          "Expected more than 1 value per channel when training, got input size {}",
          to_string(DimSpan(x.shape)));
  TensorType statistics{{x.shape[1]}, statistics_dtype(x.dtype)};
  return {x, statistics, statistics, statistics};
}

GroupMoments running_moments(const Tensor& mean, const Tensor& variance, double eps) {
  Shape shape = {1, mean.numel(), 1};
  GroupMoments moments = {converted(mean, DType::float64).contiguous().view(shape),
                          zeros(shape, DType::float64),
                          converted(variance, DType::float64).contiguous().view(shape)};
  auto rstd = moments.rstd.mutable_values<double>();
  std::size_t i = 0;
  for (double value : moments.variance.values<double>()) rstd[i++] = 1 / std::sqrt(value + eps);
  return moments;
}

void batch_norm_kernel(gsl::span<const Tensor> inputs, const Attributes& attributes,
                       gsl::span<Tensor> outputs) {
  NormalizedGroups groups = batch_norm_groups(inputs[0].shape());
  auto eps = attributes.get(attribute::eps);
  GroupMoments moments = attributes.get(attribute::training)
                             ? group_moments(inputs[0], groups, {true, eps})
                             : running_moments(inputs[3], inputs[4], eps);
  const Tensor* statistics[] = {&moments.mean, &moments.rstd, &moments.variance};
  for (std::size_t i = 0; i < 3; ++i) {
    Tensor& out = outputs[i + 1];
    copy_(out, converted(*statistics[i], out.dtype()).view(out.shape()));
  }
  normalize_groups(inputs[0], groups, moments,
                   {optional_input(inputs, 1), optional_input(inputs, 2)}, outputs[0]);
}

const Op batch_norm_op = {
    .name = "native_batch_norm",
    .shape = batch_norm_types,
    .kernel = batch_norm_kernel,
};

// running = (1 - momentum) * running + momentum * new.
void move_towards(Tensor running, const Tensor& statistic, double momentum) {
  mul_(running, 1 - momentum);
  add_(running, to(statistic, running.dtype()), momentum);
}

}  // namespace

Tensor batch_norm(const Tensor& x, const BatchNorm& options) {
  std::vector<Tensor> outputs = call(
      batch_norm_op, {x, options.weight, options.bias, options.running_mean, options.running_var},
      {attribute::training = options.training, attribute::eps = options.eps});
  if (options.training && x.numel() > 0) {
    NoGrad scope;
    std::int64_t values_per_channel = x.numel() / x.size(1);
    double values = double(values_per_channel);
    if (options.running_mean.is_defined())
      move_towards(options.running_mean, outputs[1].detach(), options.momentum);
    if (options.running_var.is_defined())
      move_towards(options.running_var, outputs[3].detach() * (values / (values - 1)),
                   options.momentum);
  }
  return outputs[0];
}

void batch_normalization_ops(OpList& ops) { ops.add({&batch_norm_op}); }

}  // namespace simmesh
