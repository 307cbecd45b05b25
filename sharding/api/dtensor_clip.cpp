#include "sharding/api/dtensor_clip.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/nn/module.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/factories.h"
#include "core/optim/clip.h"
#include "sharding/api/dtensor_gradient.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

namespace {

// Gradients with one sharding: their partial results are reduced together.
struct Family {
  std::optional<DTensorSpec> spec;  // of distributed ones
  std::vector<Tensor> locals;

  bool lies_like(const Family& other) const {
    if (!spec || !other.spec) return !spec && !other.spec;
    return spec->mesh() == other.spec->mesh() && spec->sharding == other.spec->sharding;
  }
};

// The families of parameters that differ between the ranks of a group, or those that all ranks
// have.
struct Household {
  std::optional<ProcessGroup> owners;
  std::vector<Family> families;

  void add(const Family& family) {
    auto known = std::find_if(families.begin(), families.end(),
                              [&](const Family& one) { return one.lies_like(family); });
    if (known == families.end()) return families.push_back(family);
    known->locals.insert(known->locals.end(), family.locals.begin(), family.locals.end());
  }
};

bool is_among(const Tensor& tensor, gsl::span<const Tensor> list) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Tensor& one) { return nn::is_same_tensor(one, tensor); });
}

// Lists each parameter once, with the group between whose ranks it differs, if any.
struct Listed {
  Tensor parameter;
  const ProcessGroup* owners = nullptr;
};
std::vector<Listed> listed(gsl::span<const Tensor> parameters, gsl::span<const OwnParameters> own) {
  std::vector<Listed> result;
  auto is_new = [&](const Tensor& parameter) {
    return std::none_of(result.begin(), result.end(), [&](const Listed& known) {
      return nn::is_same_tensor(known.parameter, parameter);
    });
  };
  auto owners_of = [&](const Tensor& parameter) -> const ProcessGroup* {
    for (const OwnParameters& one : own)
      if (is_among(parameter, one.parameters)) return &one.group;
    return nullptr;
  };
  for (const Tensor& parameter : parameters)
    if (is_new(parameter)) result.push_back({parameter, owners_of(parameter)});
  for (const OwnParameters& one : own)
    for (const Tensor& parameter : one.parameters)
      if (is_new(parameter)) result.push_back({parameter, &one.group});
  return result;
}

Family family_of(const Tensor& gradient) {
  if (!gradient.distribution()) return {{}, {gradient.detach()}};
  DTensor whole = DTensor::of(gradient.detach());
  Placements settled = without_partial(whole.placements());
  if (!(settled == whole.placements())) whole = whole.redistribute(settled);
  return {whole.spec(), {whole.local()}};
}

// Households of owners come first, also where a rank has no gradient of them, so that all ranks
// reduce in one order.
std::vector<Household> households_of(gsl::span<const Listed> parameters,
                                     gsl::span<const OwnParameters> own) {
  std::vector<Household> households;
  auto of_owners = [&](const ProcessGroup* owners) -> Household& {
    for (Household& one : households)
      if (owners ? one.owners && one.owners->members() == owners->members() : !one.owners)
        return one;
    return households.emplace_back(Household{owners ? std::optional(*owners) : std::nullopt, {}});
  };
  for (const OwnParameters& one : own) of_owners(&one.group);
  of_owners(nullptr);
  for (const Listed& one : parameters) {
    Tensor gradient = grad_of(one.parameter);
    if (gradient.is_defined()) of_owners(one.owners).add(family_of(gradient));
  }
  return households;
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
    if (local.numel() > 0) result = maximum(result, max(abs(to(local, DType::float64))));
  return reduced(result, family, ReduceOp::max, site);
}

// Returns the largest element of all families.
Tensor largest(gsl::span<const Household> households, const CallSite& site) {
  Tensor total = zeros(DimSpan(), DType::float64);
  for (const Household& household : households) {
    Tensor result = zeros(DimSpan(), DType::float64);
    for (const Family& family : household.families) result = maximum(result, largest(family, site));
    if (household.owners) result = all_reduce(result, ReduceOp::max, *household.owners, site);
    total = maximum(total, result);
  }
  return total;
}

// Returns the sum of the powers of all elements.
Tensor sum_of_powers(gsl::span<const Household> households, double p, const CallSite& site) {
  KeepUnrounded scope;
  Tensor total = zeros(DimSpan(), DType::float64);
  for (const Household& household : households) {
    Tensor sum = household.owners ? zeros(DimSpan(), DType::float64) : total;
    for (const Family& family : household.families)
      sum = add(sum, reduced(optim::power_sum(family.locals, p), family, ReduceOp::sum, site));
    total = household.owners ? add(total, all_reduce(sum, ReduceOp::sum, *household.owners, site))
                             : sum;
  }
  return total;
}

DType dtype_of_first(gsl::span<const Listed> parameters) {
  for (const Listed& one : parameters)
    if (Tensor gradient = grad_of(one.parameter); gradient.is_defined()) return gradient.dtype();
  return parameters.empty() ? DType::float32 : parameters[0].parameter.dtype();
}

}  // namespace

Tensor total_norm(gsl::span<const Tensor> parameters, double p, gsl::span<const OwnParameters> own,
                  CallSite site) {
  if (!(p > 0))
    raise(ErrorKind::value_error, "sharding/clip", "expected a norm above 0, got {}", p);
  NoGrad mode;
  std::vector<Listed> all = listed(parameters, own);
  DType dtype = dtype_of_first(all);
  std::vector<Household> households = households_of(all, own);
  if (std::isinf(p)) return to(largest(households, site), dtype);
  Tensor total = sum_of_powers(households, p, site);
  return to(p == 1.0 ? total : p == 2.0 ? sqrt(total) : pow(total, 1.0 / p), dtype);
}

Tensor clip_grad_norm_(gsl::span<const Tensor> parameters, const ClipOptions& options,
                       CallSite site) {
  NoGrad mode;
  Tensor norm = total_norm(parameters, options.norm_type, options.own, site);
  clip_grads_with_norm_(parameters, norm, options);
  return norm;
}

void clip_grads_with_norm_(gsl::span<const Tensor> parameters, const Tensor& norm,
                           const ClipOptions& options) {
  NoGrad mode;
  Tensor divisor = add(norm, options.eps);
  Tensor scale = clamp_max(div(full_like(norm, options.max_norm), divisor), 1.0);
  for (const Listed& one : listed(parameters, options.own)) {
    Tensor gradient = grad_of(one.parameter);
    if (!gradient.is_defined()) continue;
    Tensor local = gradient.local_part();
    Tensor clipped = mul(local, to(scale, local.dtype()));
    if (gradient.distribution())
      clipped = DTensor(DTensor::of(gradient).spec(), clipped).as_tensor();
    Tensor owner = one.parameter;
    set_grad(owner, clipped);
  }
}

}  // namespace simmesh
