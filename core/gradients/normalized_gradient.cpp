#include "core/gradients/normalized_gradient.h"

#include "core/gradients/input_gradient.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/neural/gradient_operands.h"
#include "core/ops/neural/normalization.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Tensor group_average(const NormalizedGradient& b, const Tensor& x) {
  return b.dims.empty() ? x : sum(x, b.dims, true) / b.count;
}

}  // namespace

NormalizedOperands normalized_operands(const GradientCall& call, bool subtracts_mean) {
  return {.gradient = call.gradient(0),
          .x = call.input(0),
          .rstd = call.output(subtracts_mean ? 2 : 1),
          .mean = subtracts_mean ? call.output(1) : Tensor(),
          .weight = call.has_input(1) ? call.input(1) : Tensor()};
}

NormalizedOperands aligned_operands(const GradientCall& call, bool subtracts_mean,
                                    std::size_t whole_dims, const Tensor& bias) {
  NormalizedOperands operands = normalized_operands(call, subtracts_mean);
  if (!operands.x.distribution() || grad_enabled()) return operands;
  std::vector<Tensor> tensors = {operands.gradient, operands.x, operands.rstd};
  if (subtracts_mean) tensors.push_back(operands.mean);
  std::vector<Tensor> parameters;
  for (const Tensor& parameter : {operands.weight, bias})
    if (parameter.is_defined()) parameters.push_back(parameter);
  tensors.insert(tensors.end(), parameters.begin(), parameters.end());
  DimSpan normalized = DimSpan(operands.x.shape()).last(whole_dims);
  tensors = gradient_operands(
      tensors, {attribute::of = "layer_norm",
                attribute::normalized_shape = Dims(normalized.begin(), normalized.end()),
                attribute::parameters = std::int64_t(parameters.size())});
  operands.gradient = tensors[0];
  operands.x = tensors[1];
  operands.rstd = tensors[2];
  if (subtracts_mean) operands.mean = tensors[3];
  if (operands.weight.is_defined()) operands.weight = tensors[tensors.size() - parameters.size()];
  return operands;
}

NormalizedGradient normalized_gradient(const NormalizedOperands& operands,
                                       const NormalizedGroups& groups) {
  NormalizedGradient b;
  b.rstd = reshape(operands.rstd, groups.statistics);
  DType dtype = b.rstd.dtype();
  b.centered = reshape(to(operands.x, dtype), groups.elements);
  if (operands.mean.is_defined())
    b.centered = b.centered - reshape(operands.mean, groups.statistics);
  b.normalized = b.centered * b.rstd;
  b.raw = reshape(to(operands.gradient, dtype), groups.elements);
  b.g = operands.weight.is_defined()
            ? b.raw * reshape(to(operands.weight, dtype), groups.parameters)
            : b.raw;
  b.count = 1;
  for (std::size_t i = 0; i < groups.elements.size(); ++i)
    if (groups.statistics[i] != groups.elements[i]) {
      b.dims.push_back(std::int64_t(i));
      b.count *= double(groups.elements[i]);
    }
  return b;
}

Tensor normalized_input_gradient(const GradientCall& call, const NormalizedGroups& groups,
                                 const NormalizedGradient& b, bool subtracts_mean) {
  Tensor inner = b.g - b.normalized * group_average(b, b.g * b.normalized);
  if (subtracts_mean) inner = inner - group_average(b, b.g);
  Tensor result = inner * b.rstd;
  std::size_t rstd_index = subtracts_mean ? 2 : 1;
  if (subtracts_mean && call.has_gradient(1))
    result = result + reshape(call.gradient(1), groups.statistics) / b.count;
  if (call.has_gradient(rstd_index)) {
    Tensor g = reshape(call.gradient(rstd_index), groups.statistics);
    result = result - b.centered * (g * b.rstd * b.rstd * b.rstd / b.count);
  }
  return to(reshape(result, call.input_type(0).shape), call.input_type(0).dtype);
}

Tensor channel_sum(const GradientCall& call, std::size_t i, const Tensor& x) {
  const Shape& shape = call.input_type(0).shape;
  // Channels come last, so that the sum goes over all other dims.
  Tensor channels = reshape(x, {shape[0], shape[1], numel(DimSpan(shape).subspan(2))});
  return summed_to_input(call, i, transpose(channels, 1, 2));
}

}  // namespace simmesh
