#pragma once

#include <cstddef>
#include <memory>

#include "collectives/process_group.h"
#include "core/nn/module.h"

namespace simmesh {

// ReplicateOptions says how gradients are summed over the members of a group.
struct ReplicateOptions {
  // A bucket is full once its gradients have this many bytes; one larger parameter fills one alone.
  std::size_t bucket_bytes = std::size_t(25) << 20;
  // average divides the sums by the number of members.
  bool average = false;
  // find_unused leaves parameters without a gradient that no member used in a step: one more
  // all-reduce of one int64 a parameter. Otherwise these get zeros.
  bool find_unused = false;
  // init_sync takes parameters and buffers of the first member at the start: one broadcast a dtype.
  bool init_sync = true;
};

// Replication is the handle of a module that every member of a group trains on its own part of the
// data, as PyTorch's DistributedDataParallel does.
//
// Parameters in reverse order of registration fill buckets of one dtype each. When all gradients of
// a bucket are there its all-reduce starts, buckets in the same order on all members; the end of
// the backward pass waits for them and writes the gradients back. A parameter that got no gradient
// counts as zeros, which is what DDP does with find_unused_parameters.
//
// Exact arithmetic adds what the gradients are before they are rounded (see UnroundedSums), so
// neither the number of members nor that of micro-batches changes a bit.
//
//   Replication replication = replicate(model, dp);
//   replication.set_requires_gradient_sync(false);    // gradients only add up on this rank
//   backward(loss(model(first)));
//   replication.set_requires_gradient_sync(true);
//   backward(loss(model(second)));                    // sums of both, over all members
class Replication {
 public:
  struct State;
  explicit Replication(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // set_requires_gradient_sync says whether the backward passes of the forward passes that follow
  // sum gradients. Without, they only accumulate.
  void set_requires_gradient_sync(bool value);

  std::size_t bucket_count() const;

 private:
  std::shared_ptr<State> state_;
};

// replicate makes the module's gradients sums over the group. All members call it, on modules of
// the same parameters: a RuntimeError names the first that differs. From then on each forward pass
// that records is followed by one backward pass before the next one with gradient sync; a second
// backward pass, also one inside of another as reentrant checkpointing makes, is a RuntimeError.
// The module owns what is needed; the handle may be dropped.
Replication replicate(nn::Module& module, const ProcessGroup& group,
                      const ReplicateOptions& options = {});

}  // namespace simmesh
