#include "core/tensor/launch.h"

#include <boost/container/small_vector.hpp>

#include "core/clock/kernel_launch.h"
#include "core/engine/ranks/observer_scope.h"

namespace simmesh {

namespace {

using Ranges = boost::container::small_vector<MemoryRange, 8>;

Ranges ranges_of(gsl::span<const Tensor> tensors) {
  Ranges ranges;
  for (const Tensor& tensor : tensors)
    if (tensor.is_defined() && tensor.storage()) ranges.push_back(memory_of(tensor));
  return ranges;
}

}  // namespace

void tell(const TensorLaunch& kernel) { ObserverScope<TensorLaunch>::emit(kernel); }

void launch_on_clock(Clock& clock, const TensorLaunch& launch) {
  if (clock.is_quiet()) return;
  Ranges reads = ranges_of(launch.reads), writes = ranges_of(launch.writes);
  launch_kernel(clock, {.name = launch.name,
                        .reads = reads,
                        .writes = writes,
                        .operations = launch.operations,
                        .device_bytes = launch.device_bytes,
                        .site = launch.site,
                        .copies_host_memory = launch.copies_host_memory});
}

}  // namespace simmesh
