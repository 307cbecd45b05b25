#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/process_group.h"
#include "core/check/call_site.h"
#include "core/nn/module.h"

namespace simmesh {

// ReplicatedApart are parameters that not all members of a module's group have, such as those of an
// expert: their gradients are summed over a group of their own, whose members all have them.
// Without a group they are this rank's alone.
struct ReplicatedApart {
  std::vector<Tensor> parameters;
  std::optional<ProcessGroup> group;
};

// ReplicateOptions are the options of the sum of gradients over the members of a group.
struct ReplicateOptions {
  // A bucket is full as soon as its gradients have this many bytes; a larger parameter has a bucket
  // of its own.
  std::size_t bucket_bytes = std::size_t(25) << 20;
  // Divides the sums by the number of members.
  bool average = false;
  // A parameter that no member used in a step keeps no gradient; otherwise it gets zeros. This
  // costs one more all-reduce, of one int64 per parameter.
  bool find_unused = false;
  // Copies the parameters and buffers of the first member to all members at the start, with one
  // broadcast per dtype.
  bool init_sync = true;
  // Their buckets are separate from those of the rest. With `average` their sums too are divided by
  // the number of members of the module's group: the loss of each member is a mean of its own.
  std::vector<ReplicatedApart> apart = {};
};

// Replication is the handle of a module that every member of a group trains on its own part of the
// data, as PyTorch's DistributedDataParallel does.
//
// Parameters fill buckets of one dtype each, in reverse order of registration. The all-reduce of a
// bucket starts when all its gradients are ready, and buckets start in the same order on all
// members. The end of the backward pass waits for them and writes the gradients back. A parameter
// without a gradient counts as zeros, as in DDP with find_unused_parameters.
//
// A parameter that is a DTensor over other ranks, as tensor parallelism makes it, is replicated
// piece by piece: the members have the same pieces, and a gradient keeps its placements.
//
// Exact arithmetic adds unrounded gradients (see KeepUnrounded), so the number of members and the
// number of micro-batches change no bit.
//
//   Replication replication = replicate(model, dp);
//   replication.set_requires_gradient_sync(false);    // gradients accumulate on this rank only
//   backward(loss(model(first)));
//   replication.set_requires_gradient_sync(true);
//   backward(loss(model(second)));                    // sums of both, over all members
class Replication {
 public:
  struct State;
  explicit Replication(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // set_requires_gradient_sync sets whether gradients are summed over the members in the backward
  // passes of later forward passes. If not, they only accumulate.
  void set_requires_gradient_sync(bool value);

  // prepare_for_backward lets the next backward pass sum the gradients, whatever the forward passes
  // before it were told: they include what has been accumulated. For schedules that run the forward
  // and backward passes of several micro-batches in turn.
  void prepare_for_backward();

  // bucket_count returns the number of buckets, each of which is one all-reduce a backward pass.
  std::size_t bucket_count() const;

 private:
  std::shared_ptr<State> state_;
};

// replicate makes the gradients of the module sums over the group. All members call it, on modules
// with the same parameters, except those apart; otherwise a RuntimeError names the first parameter
// that differs, or one of the meta device. From then on, with gradient sync, each recorded forward
// pass must be followed by one backward pass before the next forward pass. A second backward pass
// is a RuntimeError, also if it runs inside another one as in reentrant checkpointing. The module
// owns all state; the handle may be dropped. Reports of its collectives name the site.
Replication replicate(nn::Module& module, const ProcessGroup& group,
                      const ReplicateOptions& options = {}, CallSite site = CallSite::here());

}  // namespace simmesh
