#include <algorithm>
#include <cmath>

#include "core/gradients/families.h"
#include "core/gradients/reductions/spread.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/reductions/reduction_call.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

// The slope of the variance.
Tensor variance_gradient(const GradientCall& call, const Tensor& g) {
  const Tensor& x = call.input(0);
  Dims dims = reduced_dims(call.attributes(), x.shape().size());
  double count = 1;
  for (std::int64_t dim : dims) count *= double(x.size(dim));
  double divisor = std::fmax(0.0, count - call.attributes().get<double>("correction"));
  Tensor center = dims.empty() ? x : mean(x, dims, true);
  return kept(call, g) * (2.0 / divisor) * (x - center);
}

Gradients norm_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  double p = call.attributes().get<double>("ord");
  Tensor g = kept(call, call.gradient()), norm = kept(call, call.output());
  if (p == 0) return {zeros_like(x)};
  if (p == 1) return {sgn(x) * g};
  if (p == 2) return {x * masked_fill(g / norm, eq(norm, 0), 0)};
  if (std::isinf(p)) {
    Tensor winners = eq(abs(x), norm);
    Dims dims = reduced_dims(call.attributes(), x.shape().size());
    Tensor shared = sgn(x) * winners * g;
    return {dims.empty() ? shared : shared / sum(winners, dims, true)};
  }
  if (p < 1) {
    Tensor slope = masked_fill(sgn(x) * pow(abs(x), p - 1), eq(x, 0), 0);
    return {slope * (g * pow(norm, 1 - p))};
  }
  Tensor scale = masked_fill(g / pow(norm, p - 1), eq(norm, 0), 0);
  if (p < 2) return {sgn(x) * pow(abs(x), p - 1) * scale};
  return {x * pow(abs(x), p - 2) * scale};
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
  double count = double(element_count(type.shape)) /
                 double(std::max<std::int64_t>(1, element_count(call.output_type(1).shape)));
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

gsl::span<const OpGradient> statistics_gradients() {
  static const OpGradient gradients[] = {
      {"var", {var_gradient, {.inputs = 1}}},
      {"std", {std_gradient, {.inputs = 1, .outputs = 1}}},
      {"var_mean", {var_mean_gradient, {.inputs = 1}}},
      {"logsumexp", {logsumexp_gradient, {.inputs = 1, .outputs = 1}}},
      {"linalg_vector_norm", {norm_gradient, {.inputs = 1, .outputs = 1}}},
  };
  return gradients;
}

}  // namespace simmesh
