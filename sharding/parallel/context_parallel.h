#pragma once

#include "core/nn/attention.h"
#include "sharding/parallel/context_parallel_attention.h"

namespace simmesh {

// ContextParallel runs a module on a sequence that is cut over the ranks of a mesh of one dim: each
// nn::Attention in it, or the module itself, attends to the positions of all ranks, and rotary
// embeddings and each nn::Position use positions in the whole sequence. Everything else in a
// transformer works on positions one by one, so a whole model takes and returns this rank's
// positions, in the given order.
//
//   ContextParallel{.method = ContextMethod::ring}.apply(model, mesh["cp"]);
//   Tensor own = context_parallel_shard(x, {.dim = 1}, process_group(mesh["cp"]));
//   Tensor y = model(own);      // of these positions
//
// Parameters don't change: each rank's gradients are those of its positions, to be summed over the
// ranks (see replicate, fsdp::fully_shard). Queries, keys and values may be distributed over
// another mesh, such as heads by tensor parallelism.
struct ContextParallel {
  ContextMethod method = ContextMethod::ring;
  SequenceOrder order = SequenceOrder::head_tail;

  // apply raises a ValueError where there is no nn::Attention.
  void apply(nn::Module& module, const DeviceMesh& mesh) const;
};

// ContextShard is the dim of a tensor that is the sequence, and the order in which ranks hold it.
struct ContextShard {
  std::int64_t dim = 1;
  SequenceOrder order = SequenceOrder::head_tail;
};

// context_parallel_shard returns this rank's part of a tensor that it has whole; gradients go back
// to these positions.
Tensor context_parallel_shard(const Tensor& whole, const ContextShard& shard,
                              const ProcessGroup& group);

// context_parallel_unshard returns the whole tensor, in order of positions, from the parts of all
// ranks: one all_gather. It has no gradient. Raises a ValueError where the ranks' lengths aren't
// those of a sequence.
Tensor context_parallel_unshard(const Tensor& part, const ContextShard& shard,
                                const ProcessGroup& group);

}  // namespace simmesh
