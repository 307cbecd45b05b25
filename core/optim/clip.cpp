#include "core/optim/clip.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/arithmetic/functions.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/tensor/convert.h"

namespace simmesh::optim {

namespace {

std::vector<Tensor> gradients_of(gsl::span<const Tensor> parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters)
    if (Tensor gradient = grad_of(parameter); gradient.is_defined())
      gradients.push_back(gradient.detach());
  return gradients;
}

void replace_gradients(gsl::span<const Tensor> parameters,
                       const std::function<Tensor(const Tensor&)>& f) {
  for (const Tensor& parameter : parameters) {
    Tensor gradient = grad_of(parameter);
    if (!gradient.is_defined()) continue;
    Tensor owner = parameter;
    set_grad(owner, f(gradient.detach()));
  }
}

// Computes the norm as if all elements were in one tensor, rounded once: how they are spread over
// tensors doesn't matter. The caller, which uses the result, did what a device would do.
void write_exact_norm(gsl::span<const Tensor> tensors, double p, Tensor& norm) {
  Ledger::Uncharged unseen;
  Clock::Quiet no_launches;
  KeepUnrounded scope;
  Tensor sum = power_sum(tensors, p);
  Tensor root = p == 1.0 ? sum : p == 2.0 ? sqrt(sum) : pow(sum, 1.0 / p);
  copy_(norm, converted(root, norm.dtype()));
}

}  // namespace

namespace {

// Computes terms from the rounded elements, whatever their unrounded sums.
Tensor power_terms(const Tensor& tensor, double p) {
  KeepUnrounded none(false);
  Tensor x = to(tensor, DType::float64);
  return p == 1.0 ? abs(x) : p == 2.0 ? mul(x, x) : pow(abs(x), p);
}

}  // namespace

Tensor power_sum(gsl::span<const Tensor> tensors, double p) {
  Tensor total = zeros(DimSpan(), DType::float64);
  for (const Tensor& tensor : tensors)
    if (tensor.numel() > 0) total = add(total, sum(power_terms(tensor, p)));
  return total;
}

Tensor total_norm(gsl::span<const Tensor> tensors, double p) {
  if (!(p > 0))
    raise(ErrorKind::value_error, "optim/total_norm", "expected a norm above 0, got {}", p);
  NoGrad mode;
  DType dtype = tensors.empty() ? DType::float32 : tensors[0].dtype();
  if (tensors.empty()) return zeros(DimSpan(), dtype);
  std::vector<Tensor> norms;
  for (const Tensor& tensor : tensors) norms.push_back(to(vector_norm(tensor, p), dtype));
  Tensor norm = vector_norm(stack(norms), p);
  if (current_arithmetic().is_exact() && std::isfinite(p) && norm.has_elements())
    write_exact_norm(tensors, p, norm);
  return norm;
}

Tensor clip_grad_norm_(gsl::span<const Tensor> parameters, const ClipOptions& options) {
  NoGrad mode;
  Tensor norm = total_norm(gradients_of(parameters), options.norm_type);
  Tensor divisor = add(norm, options.eps);
  Tensor scale = clamp_max(div(full_like(norm, options.max_norm), divisor), 1.0);
  replace_gradients(parameters, [&](const Tensor& gradient) {
    return mul(gradient, to(scale, gradient.dtype()));
  });
  return norm;
}

void clip_grad_value_(gsl::span<const Tensor> parameters, double limit) {
  NoGrad mode;
  replace_gradients(parameters,
                    [&](const Tensor& gradient) { return clamp(gradient, -limit, limit); });
}

}  // namespace simmesh::optim
