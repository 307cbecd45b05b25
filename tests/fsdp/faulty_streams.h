#pragma once

#include <functional>
#include <gsl/pointers>
#include <memory>

#include "fsdp/communication/comm_context.h"
#include "fsdp/communication/comm_streams.h"
#include "fsdp/param_group/param_group.h"
#include "fsdp/state/state.h"

// Each class leaves out one thing of what keeps streams and the allocator safe, so that tests can
// see that the race checker, or a figure of the allocator, reports it.
namespace simmesh::fsdp {

using MakeStreams = std::function<std::unique_ptr<CommStreams>()>;

template <class Streams>
std::unique_ptr<CommStreams> make_streams_of() {
  return std::make_unique<Streams>();
}

// communicate_over lets a sharded model, before its first forward, communicate over these streams.
inline void communicate_over(nn::Module& root, std::unique_ptr<CommStreams> streams) {
  FSDPState::of(root)->set_comm_context(std::make_shared<CommContext>(std::move(streams)));
}

// Gathers don't wait for what changed the shards.
struct NoWaitForShards final : CommStreams {
  void wait_for_shards(const StreamEvent&) override {}
};

// Parameters are copied out without a wait for the gather.
struct NoWaitForGather final : CommStreams {
  void wait_for_gather(const StreamEvent&) override {}
};

// The buffer of a gather is given up without a wait for the copy out of it.
struct NoWaitForCopyOut final : CommStreams {
  void wait_for_copy_out(const StreamEvent&) override {}
};

// A reduction doesn't wait for its input.
struct NoWaitForReduceInput final : CommStreams {
  void wait_for_reduce_input() override {}
};

// The input of a reduction is given up while it is read.
struct DropsReduceInput final : CommStreams {
  void hold_reduce_input(ReduceInput) override {}
};

// Backward ends without a wait for the reductions.
struct NoWaitForLastReduction final : CommStreams {
  void wait_for_last_reduction(const StreamEvent&) override {}
};

// Hooks, and the optimiser, see gradients on the host that are still being copied there.
struct NoWaitForOffload final : CommStreams {
  void wait_for_offload(const StreamEvent&) override {}
};

// Variants of the time for which the buffer of an all-reduce among replicas is held: not at all, or
// until the collective has ended, both of which corrupted gradients; or until the end of backward,
// which held one for each layer.
struct DropsAllReduceBuffer final : CommStreams {
  void hold_all_reduce(AllReduceBuffer) override {}
};
struct HoldsUntilAllReduced : CommStreams {
  void hold_all_reduce(AllReduceBuffer buffer) override {
    hold_until(std::move(buffer.buffer), std::move(buffer.all_reduced));
  }
};
struct HoldsUntilTheEnd final : CommStreams {
  void release_all_reduce() override {}
};

// Holds the buffer only until the collective has ended, and a group's reduction doesn't wait for
// the end of its earlier one either.
struct NoWaitAfterAllReduce final : HoldsUntilAllReduced {
  void wait_for_earlier_reduction(const StreamEvent&) override {}
};

// Only the last group of a module gives inputs of reductions up. The observed events tell which
// group that would be.
struct OnlyTheLastGroupRecycles final : CommStreams {
  void recycle_reduce_inputs(std::size_t count) override {
    if (current && current->state().groups().back().get() == current)
      CommStreams::recycle_reduce_inputs(count);
  }
  void observe(const Event& event) {
    if (event.kind == EventKind::post_backward) current = event.group;
  }
  const FSDPParamGroup* current = nullptr;
};

}  // namespace simmesh::fsdp
