#include "checkpoint/zero_cost/checkpoint_streams.h"

#include "core/engine/ranks/local_state.h"

namespace simmesh::checkpoint {

CheckpointStreams::CheckpointStreams()
    : copies_(Stream::make("checkpoint copies")), writer_(Stream::make("checkpoint writer")) {}

CheckpointStreams& CheckpointStreams::of_this_rank() { return local_state<CheckpointStreams>(); }

StreamEvent CheckpointStreams::copy(const std::function<void()>& work) const {
  copies_.wait(Stream::current());
  StreamScope scope(copies_);
  work();
  return copies_.record();
}

StreamEvent CheckpointStreams::write(const StreamEvent& copied, double bytes, double gb_s) const {
  constexpr double gigabyte = 1024.0 * 1024.0 * 1024.0;
  writer_.wait(copied);
  StreamScope scope(writer_);
  if (Clock* clock = Clock::active())
    clock->launch({.name = "checkpoint_write",
                   .site = CallSite::here(),
                   .cost_us = bytes / gigabyte / gb_s * 1e6});
  return writer_.record();
}

}  // namespace simmesh::checkpoint
