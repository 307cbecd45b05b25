#pragma once

#include <cstdint>
#include <gsl/span>

#include "core/tensor/tensor.h"

namespace simmesh::optim {

// LossScaler keeps float16 gradients in range: the loss is multiplied by the scale, gradients are
// divided by it. A step whose gradients aren't all finite is skipped and the scale falls; after a
// number of good steps it grows. With hysteresis 1 it is PyTorch's GradScaler, with more and a
// growth delay of 1 DeepSpeed's DynamicLossScaler.
class LossScaler {
 public:
  // Options are PyTorch's, with its defaults, and DeepSpeed's.
  struct Options {
    double scale = 65536.0;
    double growth_factor = 2.0;
    double backoff_factor = 0.5;
    std::int64_t growth_interval = 2000;
    // Good steps, at the start and after a bad one, that don't count towards the growth interval:
    // none in PyTorch, one in DeepSpeed.
    std::int64_t growth_delay = 0;
    // The scale falls at this number of bad steps in a row, or since the last growth; earlier bad
    // steps only count down.
    std::int64_t hysteresis = 1;
    // A good step counts up to the hysteresis again.
    bool consecutive_hysteresis = false;
    double scale_min = 1.0;
    // A bad step at which the scale can't fall any more is a RuntimeError, as in DeepSpeed.
    bool raises_at_min = false;
    // A fixed scale neither falls nor grows.
    bool is_dynamic = true;
  };

  // Raises a ValueError for a scale that isn't above 0, and for an interval or a hysteresis
  // below 1.
  explicit LossScaler(const Options& options);

  // State is the part that changes from step to step.
  struct State {
    double scale = 1.0;
    std::int64_t left = 1;  // bad steps until the scale falls
    std::int64_t steps = 0;
    std::int64_t last_bad = -1;
    std::int64_t skipped = 0;
  };
  State state() const { return {scale_, left_, steps_, last_bad_, skipped_}; }
  void load_state(const State& state);

  double scale() const { return scale_; }
  std::int64_t skipped() const { return skipped_; }

  // scaled returns loss * scale.
  Tensor scaled(const Tensor& loss) const;

  // unscale_ divides the gradients of the parameters by the scale. Returns whether all are finite.
  bool unscale_(gsl::span<const Tensor> parameters) const;

  // update counts a step, good or bad, and sets the next scale. Returns true if the step is to be
  // made.
  bool update(bool is_finite);

 private:
  Options options_;
  double scale_;
  std::int64_t left_;       // bad steps until the scale falls
  std::int64_t steps_ = 0;  // all
  std::int64_t last_bad_ = -1;
  std::int64_t skipped_ = 0;
};

// all_finite is true if no element is infinite or NaN. A world of shapes only makes the same
// launches, and takes all elements as finite.
bool all_finite(const Tensor& tensor);

}  // namespace simmesh::optim
