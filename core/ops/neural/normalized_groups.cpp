#include "core/ops/neural/normalized_groups.h"

#include <cmath>

#include "core/arithmetic/compute.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/pointwise_op.h"
#include "core/ops/reductions/folded.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

Tensor group_average(const NormalizedGradient& b, const Tensor& x) {
  return b.dims.empty() ? x : sum(x, b.dims, true) / b.count;
}

}  // namespace

Dims NormalizedGroups::normalized_dims() const {
  Dims dims;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (statistics[i] != elements[i]) dims.push_back(std::int64_t(i));
  return dims;
}

DType statistics_dtype(DType dtype) {
  return dtype == DType::float64 ? DType::float64 : DType::float32;
}

Tensor optional_input(gsl::span<const Tensor> inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : Tensor();
}

Tensor optional_input(const GradientCall& call, std::size_t i) {
  return has_input(call, i) ? call.input(i) : Tensor();
}

GroupMoments group_moments(const Tensor& x, const NormalizedGroups& groups,
                           const MomentOptions& options) {
  GroupMoments moments{zeros(groups.statistics, DType::float64),
                       zeros(groups.statistics, DType::float64),
                       zeros(groups.statistics, DType::float64)};
  auto means = moments.mean.mutable_values<double>(), rstd = moments.rstd.mutable_values<double>();
  auto variances = moments.variance.mutable_values<double>();
  Dims dims = groups.normalized_dims();
  Folded terms = folded(x.contiguous().view(groups.elements), dims);
  if (terms.results() == 0 || terms.count == 0) return moments;
  auto count = double(terms.count);
  if (options.subtracts_mean) {
    SumRequest request = terms.request(SumTerm::identity);
    request.totals = means;
    compute(current_arithmetic(), request);
    for (double& mean : means) mean /= count;
  }
  SumRequest request =
      terms.request(options.subtracts_mean ? SumTerm::squared_deviation : SumTerm::square);
  if (options.subtracts_mean) request.means = means;
  request.totals = variances;
  compute(current_arithmetic(), request);
  for (std::size_t i = 0; i < variances.size(); ++i) {
    variances[i] /= count;
    rstd[i] = 1 / std::sqrt(variances[i] + options.eps);
  }
  return moments;
}

void normalize_groups(const Tensor& x, const NormalizedGroups& groups, const GroupMoments& moments,
                      const Affine& affine, Tensor& out) {
  auto parameter = [&](const Tensor& given, int absent) -> PointwiseOperand {
    if (!given.is_defined()) return {Tensor(), absent};
    return {given.contiguous().view(groups.parameters)};
  };
  PointwiseOperand operands[] = {{x.contiguous().view(groups.elements)},
                                 {moments.mean},
                                 {moments.rstd},
                                 parameter(affine.weight, 1),
                                 parameter(affine.bias, 0)};
  ChunkLoop loop = [](const PointwiseChunk& chunk) {
    const double *value = chunk.operand<double>(0), *mean = chunk.operand<double>(1);
    const double *rstd = chunk.operand<double>(2), *weight = chunk.operand<double>(3);
    const double* bias = chunk.operand<double>(4);
    double* result = chunk.results<double>();
    for (std::size_t i = 0; i < chunk.count; ++i)
      result[i] = (value[i] - mean[i]) * rstd[i] * weight[i] + bias[i];
  };
  Tensor view = out.view(groups.elements);
  compute_pointwise({.operands = operands, .type = ComputeType::float64, .loop = loop}, view);
}

NormalizedGradient normalized_gradient(const GradientCall& call, const NormalizedGroups& groups,
                                       bool subtracts_mean) {
  NormalizedGradient b;
  std::size_t rstd_index = subtracts_mean ? 2 : 1;
  b.rstd = reshape(call.output(rstd_index), groups.statistics);
  DType dtype = b.rstd.dtype();
  b.centered = reshape(to(call.input(0), dtype), groups.elements);
  if (subtracts_mean) b.centered = b.centered - reshape(call.output(1), groups.statistics);
  b.normalized = b.centered * b.rstd;
  b.raw = reshape(to(call.gradient(0), dtype), groups.elements);
  Tensor weight = optional_input(call, 1);
  b.g = weight.is_defined() ? b.raw * reshape(to(weight, dtype), groups.parameters) : b.raw;
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
  // Channels come last, so that all before them is summed.
  Tensor channels = reshape(x, {shape[0], shape[1], -1});
  return summed_to_input(call, i, transpose(channels, 1, 2));
}

}  // namespace simmesh
