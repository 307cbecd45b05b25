#pragma once

#include <gsl/span>
#include <optional>

#include "core/clock/clock.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// memory_of returns the bytes from the first to the last element of a tensor.
MemoryRange memory_of(const Tensor& tensor);

// KernelLaunch is an operation on tensors as the clock of the rank sees it. Undefined and
// distributed tensors are left out.
struct KernelLaunch {
  const char* name;
  gsl::span<const Tensor> reads = {};
  gsl::span<const Tensor> writes = {};
  double operations = 0;  // floating-point ones
  // What it moves, where that isn't all it reads and writes, in bytes.
  std::optional<double> device_bytes = {};
  CallSite site = {};
  // A copy between the device and the host's memory.
  bool copies_host_memory = false;
};

// launch tells the rank's clock of an operation on the current stream. Raises a RuntimeError where
// it races with an earlier one. Without a clock it does nothing.
void launch_on_clock(Clock& clock, const KernelLaunch& kernel);
inline void launch(const KernelLaunch& kernel) {
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
