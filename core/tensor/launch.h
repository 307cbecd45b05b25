#pragma once

#include <gsl/span>
#include <optional>

#include "core/clock/clock.h"
#include "core/engine/ranks/watch.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// TensorLaunch is a KernelLaunch in terms of tensors. Undefined and distributed ones are left out.
struct TensorLaunch {
  const char* name;
  gsl::span<const Tensor> reads = {};
  gsl::span<const Tensor> writes = {};
  double operations = 0;
  std::optional<double> device_bytes = {};
  CallSite site = {};
  bool copies_host_memory = false;
};

// launch tells the rank's clock of an operation on the current stream, and those who watch the rank
// (see Watch). Raises a RuntimeError where it races with an earlier one. Without a clock and
// watchers it does nothing.
void launch_on_clock(Clock& clock, const TensorLaunch& kernel);
void tell(const TensorLaunch& kernel);
inline void launch(const TensorLaunch& kernel) {
  if (Watch::is_on()) [[unlikely]]
    tell(kernel);
  if (Clock* clock = Clock::active()) [[unlikely]]
    launch_on_clock(*clock, kernel);
}
inline void launch(const char* name, const Tensor& read, const Tensor& written) {
  launch({.name = name, .reads = {&read, 1}, .writes = {&written, 1}});
}
inline void launch(const char* name, const Tensor& written) {
  launch({.name = name, .writes = {&written, 1}});
}

}  // namespace simmesh
