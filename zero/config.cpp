#include "zero/config.h"

#include <cmath>

namespace simmesh::zero {

optim::LossScaler::Options Fp16::scaler() const {
  return {.scale = loss_scale > 0 ? loss_scale : std::ldexp(1.0, int(initial_scale_power)),
          .growth_interval = loss_scale_window,
          .hysteresis = hysteresis,
          .consecutive_hysteresis = consecutive_hysteresis,
          .scale_min = double(min_loss_scale),
          .is_dynamic = !(loss_scale > 0)};
}

}  // namespace simmesh::zero
