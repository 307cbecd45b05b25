#include "fsdp/clip.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/factories.h"
#include "sharding/dtensor.h"

namespace simmesh::fsdp {

namespace {

// Gradients that lie in the same way: their partial results are reduced together.
struct Family {
  std::optional<DTensorSpec> spec;
  std::vector<Tensor> locals;

  bool takes(const std::optional<DTensorSpec>& other) const {
    if (!spec || !other) return !spec && !other;
    return spec->mesh() == other->mesh() && spec->sharding == other->sharding;
  }
};

std::vector<Family> families_of(gsl::span<const Tensor> parameters) {
  std::vector<Family> families;
  for (const Tensor& parameter : parameters) {
    Tensor gradient = grad_of(parameter);
    if (!gradient.is_defined()) continue;
    std::optional<DTensorSpec> spec;
    if (gradient.distribution()) spec = DTensor::of(gradient).spec();
    auto family = std::find_if(families.begin(), families.end(),
                               [&](const Family& known) { return known.takes(spec); });
    if (family == families.end()) family = families.insert(family, {spec, {}});
    family->locals.push_back(gradient.local_part());
  }
  return families;
}

// reduced adds, or takes the maximum, over the ranks that hold different pieces.
Tensor reduced(Tensor value, const Family& family, ReduceOp op, const CallSite& site) {
  if (!family.spec) return value;
  for (std::int64_t dim = 0; dim < family.spec->mesh().ndim(); ++dim)
    if (family.spec->placements()[std::size_t(dim)].splits())
      value = all_reduce(value, op, family.spec->groups->group(Dims{dim}), site);
  return value;
}

Tensor largest(const Family& family, const CallSite& site) {
  Tensor result = zeros(DimSpan(), DType::float64);
  for (const Tensor& local : family.locals)
    if (local.element_count() > 0) result = maximum(result, max(abs(to(local, DType::float64))));
  return reduced(result, family, ReduceOp::max, site);
}

}  // namespace

Tensor total_norm(gsl::span<const Tensor> parameters, double p, CallSite site) {
  if (!(p > 0)) raise(ErrorKind::value_error, "fsdp/clip", "expected a norm above 0, got {}", p);
  NoGrad mode;
  std::vector<Family> families = families_of(parameters);
  if (families.empty()) return zeros(DimSpan(), DType::float32);
  DType dtype = families.front().locals.front().dtype();
  Tensor total = zeros(DimSpan(), DType::float64);
  if (std::isinf(p)) {
    for (const Family& family : families) total = maximum(total, largest(family, site));
    return to(total, dtype);
  }
  for (const Family& family : families) {
    UnroundedSums scope;
    Tensor sum = optim::power_sum(family.locals, p);
    total = add(total, reduced(sum, family, ReduceOp::sum, site));
  }
  return to(p == 1.0 ? total : p == 2.0 ? sqrt(total) : pow(total, 1.0 / p), dtype);
}

Tensor clip_grad_norm_(gsl::span<const Tensor> parameters, const optim::ClipOptions& options,
                       CallSite site) {
  NoGrad mode;
  Tensor norm = total_norm(parameters, options.norm_type, site);
  Tensor divisor = add(norm, options.eps);
  Tensor scale = clamp_max(div(full_like(norm, options.max_norm), divisor), 1.0);
  for (const Tensor& parameter : parameters) {
    Tensor gradient = grad_of(parameter);
    if (!gradient.is_defined()) continue;
    Tensor local = gradient.local_part();
    Tensor clipped = mul(local, to(scale, local.dtype()));
    if (gradient.distribution())
      clipped = DTensor(DTensor::of(gradient).spec(), clipped).as_tensor();
    Tensor owner = parameter;
    set_grad(owner, clipped);
  }
  return norm;
}

}  // namespace simmesh::fsdp
