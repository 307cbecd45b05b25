#include "core/optim/loss_scaler.h"

#include <algorithm>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/known_tensor.h"

namespace simmesh::optim {

LossScaler::LossScaler(const Options& options)
    : options_(options), scale_(options.scale), left_(options.hysteresis) {
  if (!(options.scale > 0) || options.growth_interval < 1 || options.hysteresis < 1)
    raise(ErrorKind::value_error, "optim/loss_scaler",
          "expected a scale above 0, a growth interval and a hysteresis of at least 1, got {}, {} "
          "and {}",
          options.scale, options.growth_interval, options.hysteresis);
}

void LossScaler::load_state(const State& state) {
  scale_ = state.scale;
  left_ = state.left;
  steps_ = state.steps;
  last_bad_ = state.last_bad;
  skipped_ = state.skipped;
}

Tensor LossScaler::scaled(const Tensor& loss) const { return mul(loss, scale_); }

bool LossScaler::unscale_(gsl::span<const Tensor> parameters) const {
  NoGrad mode;
  bool finite = true;
  for (const Tensor& parameter : parameters) {
    Tensor gradient = grad_of(parameter);
    if (!gradient.is_defined()) continue;
    finite &= all_finite(gradient);
    Tensor owner = parameter;
    set_grad(owner, div(gradient.detach(), scale_));
  }
  return finite;
}

bool LossScaler::update(bool is_finite) {
  ++steps_;
  if (!is_finite) ++skipped_;
  if (!options_.is_dynamic) return is_finite;
  std::int64_t step = steps_ - 1;
  if (!is_finite) {
    if (left_ == 1 && options_.raises_at_min && scale_ <= options_.scale_min)
      raise(ErrorKind::runtime_error, "optim/loss_scaler",
            "expected finite gradients at the smallest loss scale, {}, got others", scale_);
    if (left_ == 1)
      scale_ = std::max(scale_ * options_.backoff_factor, options_.scale_min);
    else
      --left_;
    last_bad_ = step;
    return false;
  }
  if (options_.consecutive_hysteresis) left_ = options_.hysteresis;
  std::int64_t good_steps = step - last_bad_ - options_.growth_delay;
  if (good_steps > 0 && good_steps % options_.growth_interval == 0) {
    if (!options_.consecutive_hysteresis) left_ = options_.hysteresis;
    scale_ *= options_.growth_factor;
  }
  return true;
}

bool all_finite(const Tensor& tensor) {
  NoGrad mode;
  Tensor result = known_tensor(all(isfinite(tensor.detach())), "all_finite");
  return !result.has_elements() || result.contiguous().values<bool>()[0];
}

}  // namespace simmesh::optim
