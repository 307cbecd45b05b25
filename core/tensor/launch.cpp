#include "core/tensor/launch.h"

namespace simmesh {

namespace {

using Ranges = boost::container::small_vector<MemoryRange, 8>;

Ranges ranges_of(gsl::span<const Tensor> tensors) {
  Ranges ranges;
  for (const Tensor& tensor : tensors)
    if (tensor.is_defined() && tensor.storage()) ranges.push_back(memory_of(tensor));
  return ranges;
}

double device_bytes(const Ranges& ranges) {
  double bytes = 0;
  for (const MemoryRange& range : ranges)
    if (range.storage_begin != 0) bytes += double(range.bytes);
  return bytes;
}

double host_bytes(const Ranges& ranges) {
  double bytes = 0;
  for (const MemoryRange& range : ranges)
    if (range.storage_begin == 0) bytes += double(range.bytes);
  return bytes;
}

}  // namespace

MemoryRange memory_of(const Tensor& tensor) {
  const Storage& storage = *tensor.storage();
  std::size_t element = bytes_per_element(tensor.dtype());
  std::int64_t last = 0;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
    last += (tensor.size(dim) - 1) * tensor.strides()[std::size_t(dim)];
  bool is_empty = tensor.element_count() == 0;
  return {.storage = storage.id(),
          .storage_begin = storage.address(),
          .offset = std::size_t(tensor.storage_offset()) * element,
          .bytes = is_empty ? 0 : std::size_t(last + 1) * element};
}

void launch_on_clock(Clock& clock, const KernelLaunch& kernel) {
  if (clock.is_quiet()) return;
  Ranges reads = ranges_of(kernel.reads), writes = ranges_of(kernel.writes);
  KernelWork work{.device_bytes = kernel.device_bytes ? *kernel.device_bytes
                                                      : device_bytes(reads) + device_bytes(writes),
                  .operations = kernel.operations};
  if (kernel.copies_host_memory) work.host_bytes = host_bytes(reads) + host_bytes(writes);
  clock.launch({.name = kernel.name,
                .site = kernel.site,
                .reads = reads,
                .writes = writes,
                .cost_us = clock.model().kernel_us(work),
                .copies_host_memory = kernel.copies_host_memory});
}

}  // namespace simmesh
