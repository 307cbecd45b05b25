#include "core/ops/kernels/normalized_groups.h"

#include <cmath>

#include "core/arithmetic/compute.h"
#include "core/ops/attribute_names.h"
#include "core/ops/compute_mode.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/pointwise_op.h"

namespace simmesh {

Dims NormalizedGroups::normalized_dims() const {
  Dims dims;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (statistics[i] != elements[i]) dims.push_back(std::int64_t(i));
  return dims;
}

NormalizedGroups layer_norm_groups(const Shape& shape, const Attributes& attributes) {
  const Dims& normalized = attributes.get(attribute::normalized_shape);
  NormalizedGroups groups{shape, shape, normalized};
  for (std::size_t i = shape.size() - normalized.size(); i < shape.size(); ++i)
    groups.statistics[i] = 1;
  return groups;
}

NormalizedGroups group_norm_groups(const Shape& shape, const Attributes& attributes) {
  auto groups = attributes.get(attribute::groups);
  std::int64_t channels = shape[1] / groups;
  std::int64_t rest = numel(DimSpan(shape).subspan(2));
  return {{shape[0], groups, channels, rest}, {shape[0], groups, 1, 1}, {groups, channels, 1}};
}

NormalizedGroups batch_norm_groups(const Shape& shape) {
  std::int64_t rest = numel(DimSpan(shape).subspan(2));
  return {{shape[0], shape[1], rest}, {1, shape[1], 1}, {shape[1], 1}};
}

DType statistics_dtype(DType dtype) {
  return dtype == DType::float64 ? DType::float64 : DType::float32;
}

Tensor optional_input(gsl::span<const Tensor> inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : Tensor();
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

}  // namespace simmesh
