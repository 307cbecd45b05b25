#include "sharding/api/dtensor_gradient.h"

#include <algorithm>
#include <typeinfo>

#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/run/followed_release.h"
#include "core/ops/compute_mode.h"
#include "core/ops/functions/op_views.h"
#include "core/ops/shapes/aliases.h"
#include "sharding/dtensor/explicit_redistribution.h"
#include "sharding/propagation/dispatch.h"

namespace simmesh {

namespace {

bool is_reduced_to_pass(const Placement& placement) {
  if (!placement.is_partial()) return false;
  constexpr ReduceOp passed[] = {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max};
  return !placement.is_plain_partial() ||
         std::count(std::begin(passed), std::end(passed), placement.reduce_op()) == 0;
}

// DTensorDistribution is a DTensor inside a Tensor.
class DTensorDistribution final : public Distribution {
 public:
  explicit DTensorDistribution(DTensor value) : value_(std::move(value)) {}

  const DTensor& value() const { return value_; }
  void replace(DTensor value) const { value_ = std::move(value); }

  Tensor local_part() const override { return value_.local(); }
  bool is_partial() const override { return has_partial(value_.placements()); }
  const AttachedViews& views() const override { return op_views(); }

  std::vector<Tensor> dispatch(const OpCall& call) const override {
    return simmesh::dispatch(call);
  }

  // Follows PyTorch, which detaches a result to save it: sums, averages and extremes stay partial,
  // other results are reduced by the forward pass.
  Tensor saved_output(const Tensor& result) const override {
    const Placements& placements = value_.placements();
    if (std::none_of(placements.begin(), placements.end(), is_reduced_to_pass))
      return result.detach();
    NoGrad scope;
    return alias(result);
  }

 private:
  mutable DTensor value_;
};

// Wraps a backward rule for DTensors as a FunctionBackward.
FunctionBackward of_dtensor(std::function<Tensor(const DTensor& gradient)> rule) {
  return [rule = std::move(rule)](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
    if (!gradients[0].is_defined()) return {Tensor()};
    return {rule(DTensor::of(gradients[0]))};
  };
}

DTensor redistributed_to(const DTensor& gradient, const Sharding& target,
                         std::optional<DType> dtype = {}) {
  if (dtype == gradient.dtype()) dtype = {};
  if (gradient.spec().sharding == target && !dtype) return gradient;
  return gradient.redistribute_local(target.placements,
                                     {.order = target.order, .forward_dtype = dtype});
}

void observe_from_local_backward(const DTensor& gradient, const Sharding& target) {
  if (gradient.spec().sharding == target ||
      !follows(ReleaseChange::explicit_context_sees_from_local))
    return;
  ExplicitRedistributionContext::observe_redistribution(
      gradient, target, "Implicit redistribution occurred in DTensor.from_local backward");
}

}  // namespace

Placements without_partial(Placements placements) {
  for (Placement& placement : placements)
    if (placement.is_partial()) placement = Replicate();
  return placements;
}

Placements gradient_placements(PlacementSpan gradient, PlacementSpan tensor) {
  Placements result(tensor.begin(), tensor.end());
  for (std::size_t dim = 0; dim < result.size(); ++dim)
    if (result[dim].is_partial() && !(gradient[dim] == result[dim])) result[dim] = Replicate();
  return result;
}

void record_redistribute(const DTensor& from, DTensor& to, std::optional<DType> dtype) {
  Tensor target = to.as_tensor();
  record_function("redistribute", {from.as_tensor()}, {&target},
                  of_dtensor([source = from.spec(), dtype](const DTensor& gradient) {
                    Sharding sharding = source.sharding;
                    sharding.placements =
                        gradient_placements(gradient.placements(), source.placements());
                    DTensor there = redistributed_to(gradient, sharding, dtype);
                    if (dtype) there = redistributed_to(there, sharding, source.dtype);
                    return there.as_tensor();
                  }),
                  {.reduces_gradients = true});
  to = DTensor::of(target);
}

DTensor recorded_from_local(const Tensor& local, const DTensor& result,
                            const FromLocalOptions& options) {
  Tensor target = result.as_tensor();
  Sharding sharding = result.spec().sharding;
  sharding.placements = options.grad_placements ? *options.grad_placements
                                                : without_partial(std::move(sharding.placements));
  record_function("from_local", {local}, {&target}, of_dtensor([sharding](const DTensor& gradient) {
                    observe_from_local_backward(gradient, sharding);
                    return redistributed_to(gradient, sharding).to_local();
                  }),
                  {.reduces_gradients = true});
  return DTensor::of(target);
}

Tensor DTensor::to_local(const ToLocalOptions& options) const {
  Tensor result = local();
  if (!requires_grad()) return result;
  DTensorSpec spec = place_->spec;
  spec.sharding.placements = options.grad_placements
                                 ? *options.grad_placements
                                 : without_partial(std::move(spec.sharding.placements));
  record_function("to_local", {as_tensor()}, {&result},
                  [spec](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
                    if (!gradients[0].is_defined()) return {Tensor()};
                    DTensor gradient(spec, gradients[0].detach());
                    if (gradients[0].requires_grad())
                      gradient = recorded_from_local(gradients[0], gradient, {});
                    return {gradient.as_tensor()};
                  },
                  {.reduces_gradients = true});
  return result;
}

void DTensor::set_requires_grad(bool value) {
  Tensor tensor = as_tensor();
  simmesh::set_requires_grad(tensor, value);
  tracking_ = tensor.tracking();
}

std::optional<DTensor> DTensor::grad() const {
  Tensor gradient = grad_of(as_tensor());
  if (!gradient.is_defined()) return std::nullopt;
  return of(gradient);
}

Tensor DTensor::as_tensor() const {
  DTensor value = *this;
  value.tracking_ = nullptr;
  Tensor tensor(new DTensorDistribution(std::move(value)), dtype(), shape());
  tensor.set_tracking(tracking_);
  return tensor;
}

Tensor DTensor::tensor_with_local(Tensor&& local, const Tensor& mask) const {
  DTensor value(place_, std::move(local), {});
  if (mask.is_defined()) value.mask_ = std::make_shared<const Tensor>(mask);
  return Tensor(new DTensorDistribution(std::move(value)), dtype(), shape());
}

namespace {

const DTensorDistribution& distribution_of(const Tensor& tensor) {
  const Distribution* distribution = tensor.distribution().get();
  // The class is final, so comparing types is enough, and cheaper than a dynamic_cast.
  if (!distribution || typeid(*distribution) != typeid(DTensorDistribution))
    raise(ErrorKind::type_error, "sharding/dtensor", "expected a distributed tensor, got {}",
          to_string(tensor));
  return static_cast<const DTensorDistribution&>(*distribution);
}

}  // namespace

Tensor replace_value(const Tensor& tensor, const DTensor& value) {
  distribution_of(tensor).replace(value);
  Tensor result(tensor.distribution(), value.dtype(), value.shape());
  result.set_tracking(tensor.tracking());
  return result;
}

const DTensor& DTensor::in(const Tensor& tensor) { return distribution_of(tensor).value(); }

DTensor DTensor::of(const Tensor& tensor) {
  DTensor result = in(tensor);
  result.tracking_ = tensor.tracking();
  return result;
}

}  // namespace simmesh
