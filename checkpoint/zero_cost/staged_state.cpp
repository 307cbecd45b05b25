#include "checkpoint/zero_cost/staged_state.h"

#include <cstring>

#include "checkpoint/catalog/piece.h"
#include "core/check/error.h"
#include "core/clock/kernel_launch.h"
#include "core/engine/spread/world_spread.h"
#include "core/memory/ledger.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::checkpoint {

StagedState::StagedState(const StateDict& source) {
  for (const StateDict::Entry& entry : source.entries()) {
    const std::string& name = entry.name;
    if (const auto* json = std::get_if<JsonValue>(&entry.value)) {
      state_.add(name, *json);
    } else if (const auto* shard = std::get_if<FlatShard>(&entry.value)) {
      state_.add(name,
                 FlatShard{room_for(name, shard->values.detach()), shard->shape, shard->range});
    } else {
      const Tensor& tensor = std::get<Tensor>(entry.value);
      if (!tensor.distribution()) {
        state_.add(name, room_for(name, tensor.detach()));
        continue;
      }
      DTensor distributed = DTensor::of(tensor);
      bool is_member = distributed.spec().groups->is_member();
      state_.add(name, is_member
                           ? distributed.with_local(room_for(name, distributed.local())).as_tensor()
                           : tensor.detach());
    }
  }
}

Tensor StagedState::room_for(const std::string& name, const Tensor& source) {
  Ledger::Uncharged host;
  Tensor copy = empty(source.shape(), source.dtype());
  // A ghost of a run that is spread over processes takes the steps of its owner.
  bool is_copied = source.has_elements() || WorldSpread::active();
  if (source.bytes() == 0 || !is_copied) return copy;
  ranges_.push_back({tensors_.size(), 0, std::int64_t(source.bytes())});
  tensors_.push_back(
      {.name = name, .source = source, .copy = copy, .changes = source.storage()->changes()});
  return copy;
}

std::int64_t StagedState::bytes() const {
  std::int64_t bytes = 0;
  for (const CopyRange& range : ranges_) bytes += range.end - range.begin;
  return bytes;
}

void StagedState::copy(const CopyRange& range) {
  StagedTensor& tensor = tensors_[range.buffer];
  if (!tensor.source.has_elements()) return;
  const std::byte* from = tensor.source.data();
  if (!tensor.source.is_contiguous()) {
    if (tensor.packed.empty()) tensor.packed = packed(tensor.source);
    from = tensor.packed.data();
  }
  std::memcpy(tensor.copy.mutable_data() + range.begin, from + range.begin,
              std::size_t(range.end - range.begin));
}

void StagedState::copy(gsl::span<const CopyRange> ranges) {
  for (const CopyRange& range : ranges) copy(range);
}

void StagedState::copy_now(const CopyRange& range) {
  copy(range);
  tensors_[range.buffer].may_change = true;
}

void StagedState::launch_copy(gsl::span<const CopyRange> ranges) const {
  Clock* clock = Clock::active();
  if (!clock || ranges.empty()) return;
  std::vector<MemoryRange> reads, writes;
  for (const CopyRange& range : ranges) {
    const StagedTensor& tensor = tensors_[range.buffer];
    auto begin = std::size_t(range.begin), bytes = std::size_t(range.end - range.begin);
    MemoryRange read = memory_of(tensor.source), write = memory_of(tensor.copy);
    if (tensor.source.is_contiguous()) read.offset += begin, read.bytes = bytes;
    write.offset += begin, write.bytes = bytes;
    reads.push_back(read);
    writes.push_back(write);
  }
  launch_kernel(*clock, {.name = "checkpoint_copy",
                         .reads = reads,
                         .writes = writes,
                         .site = CallSite::here(),
                         .copies_host_memory = true});
}

void StagedState::check_unchanged() const {
  for (const StagedTensor& tensor : tensors_)
    if (!tensor.may_change && tensor.source.storage()->changes() != tensor.changes)
      raise(ErrorKind::runtime_error, "checkpoint/zero_cost",
            "'{}' was written before the copy of its checkpoint had ended; expected it to stay as "
            "it is until before_step, or its name in copied_at_once",
            tensor.name);
}

}  // namespace simmesh::checkpoint
