#include "collectives/host_memory.h"

#include <fmt/format.h>

#include "core/arithmetic/companions/carried_values.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/tensor/strided_copy.h"

namespace simmesh {

namespace {

void invert(std::byte* bytes, std::size_t count, std::byte bits) {
  if (bits == std::byte{0}) return;
  for (std::size_t i = 0; i < count; ++i) bytes[i] ^= bits;
}

ElementsOfStorage recorded_elements(const HostArray& array) {
  return {{array.data, array.dtype, array.shape, array.strides}, array.record_offset};
}

// Puts what came with a part behind the elements to which it was written.
void keep_values(const ResultPart& part, const HostArray& array) {
  if (!array.record) return;
  ElementsOfStorage elements = recorded_elements(array);
  if (auto values = carried_values({*part.buffer, part.offset, part.dtype, numel(part.shape)}))
    array.record->keep(elements, *values);
  else
    array.record->drop(elements);
}

}  // namespace

std::string to_string(const HostArray& array) {
  return (array.host_dtype ? array.host_dtype : std::string(to_string(array.dtype))) +
         to_string(DimSpan(array.shape));
}

std::vector<Tensor> HostMemory::placeholders() const {
  std::vector<Tensor> tensors;
  for (const HostArray& array : operands_) tensors.push_back(empty_meta(array.shape, array.dtype));
  return tensors;
}

void HostMemory::load(gsl::span<Tensor> tensors) const {
  Ledger::Uncharged scope;
  Clock::Quiet no_copy;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const HostArray& array = operands_[i];
    tensors[i] = empty(array.shape, array.dtype);
    if (tensors[i].bytes() == 0) continue;
    strided_copy({tensors[i].mutable_data(), tensors[i].strides()}, {array.data, array.strides},
                 array.shape, bytes_per_element(array.dtype));
    invert(tensors[i].mutable_data(), tensors[i].bytes(), array.inverted_bits);
    carry_in({recorded_elements(array), array.record, array.factor}, tensors[i]);
  }
}

void HostMemory::store(gsl::span<const ResultPart> parts) const {
  for (std::size_t i = 0; i < std::min(parts.size(), results_.size()); ++i) {
    const HostArray& array = results_[i];
    const ResultPart& part = parts[i];
    std::int64_t count = numel(array.shape);
    if (part.dtype != array.dtype || numel(part.shape) != count)
      raise(ErrorKind::runtime_error, "collectives/host_memory",
            "expected a result of {} elements of {} to write to, got one of {} of {}",
            numel(part.shape), to_string(part.dtype), count, to_string(array.dtype));
    if (count == 0) continue;
    const std::byte* source = part.buffer->data() + part.offset;
    std::vector<std::byte> inverted;
    if (array.inverted_bits != std::byte{0}) {
      inverted.assign(source, source + std::size_t(count) * bytes_per_element(array.dtype));
      invert(inverted.data(), inverted.size(), array.inverted_bits);
      source = inverted.data();
    }
    strided_copy({array.data, array.strides}, {source, contiguous_strides(array.shape)},
                 array.shape, bytes_per_element(array.dtype));
    keep_values(part, array);
  }
}

}  // namespace simmesh
