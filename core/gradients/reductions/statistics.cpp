#include "core/ops/reductions/statistics.h"

#include <algorithm>
#include <cmath>

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/gradients/spread.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

// Returns the gradient of the variance.
Tensor variance_gradient(const GradientCall& call, const Tensor& g) {
  const Tensor& x = call.input(0);
  Dims dims = reduced_dims(call.attributes(), x.shape().size());
  double count = 1;
  for (std::int64_t dim : dims) count *= double(x.size(dim));
  double divisor = std::fmax(0.0, count - call.attributes().get(attribute::correction));
  Tensor center = dims.empty() ? x : mean(x, dims, true);
  return kept(call, g) * (2.0 / divisor) * (x - center);
}

// Returns g times the derivative of a norm of x over some dims; norm and g have those dims with
// size 1.
Tensor norm_slope(const Tensor& x, const Tensor& norm, const Tensor& g,
                  const Attributes& attributes) {
  double p = attributes.get(attribute::ord);
  if (p == 0) return zeros_like(x);
  if (p == 1) return sgn(x) * g;
  if (p == 2) return x * masked_fill(g / norm, eq(norm, 0), 0);
  if (std::isinf(p)) {
    Tensor winners = eq(abs(x), norm);
    Dims dims = reduced_dims(attributes, x.shape().size());
    Tensor shared = sgn(x) * winners * g;
    return dims.empty() ? shared : shared / sum(winners, dims, true);
  }
  if (p < 1) {
    Tensor slope = masked_fill(sgn(x) * pow(abs(x), p - 1), eq(x, 0), 0);
    return slope * (g * pow(norm, 1 - p));
  }
  Tensor scale = masked_fill(g / pow(norm, p - 1), eq(norm, 0), 0);
  if (p < 2) return sgn(x) * pow(abs(x), p - 1) * scale;
  return x * pow(abs(x), p - 2) * scale;
}

Gradients norm_gradient(const GradientCall& call) {
  return {norm_slope(call.input(0), kept(call, call.output()), kept(call, call.gradient()),
                     call.attributes())};
}

Gradients dist_gradient(const GradientCall& call) {
  Tensor slope =
      norm_slope(call.input(0) - call.input(1), call.output(), call.gradient(), call.attributes());
  Gradients result(2);
  if (call.needs(0)) result[0] = summed_to_input(call, 0, slope);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, neg(slope));
  return result;
}

Gradients var_gradient(const GradientCall& call) {
  return {variance_gradient(call, call.gradient())};
}

Gradients std_gradient(const GradientCall& call) {
  const Tensor& deviation = call.output();
  Tensor g = call.gradient() / (deviation * 2);
  return {variance_gradient(call, masked_fill(g, eq(deviation, 0), 0))};
}

Gradients var_mean_gradient(const GradientCall& call) {
  const TensorType& type = call.input_type(0);
  double count = double(numel(type.shape)) /
                 double(std::max<std::int64_t>(1, numel(call.output_type(1).shape)));
  Tensor result;
  if (call.has_gradient(0)) result = variance_gradient(call, call.gradient(0));
  if (call.has_gradient(1)) {
    Tensor of_mean = spread(call, call.gradient(1)) / count;
    result = result.is_defined() ? result + of_mean : of_mean;
  }
  return {result};
}

Gradients logsumexp_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Tensor share = exp(x - kept(call, call.output()));
  return {to(kept(call, call.gradient()) * share, x.dtype())};
}

}  // namespace

void statistics_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"var", {var_gradient, {.inputs = 1}}},
      {"std", {std_gradient, {.inputs = 1, .outputs = 1}}},
      {"var_mean", {var_mean_gradient, {.inputs = 1}}},
      {"logsumexp", {logsumexp_gradient, {.inputs = 1, .outputs = 1}}},
      {"linalg_vector_norm", {norm_gradient, {.inputs = 1, .outputs = 1}}},
      {"dist", {dist_gradient, {.inputs = 0b11, .outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
