#pragma once

#include <optional>

#include "sharding/parallel/sequence_split.h"

namespace simmesh {

// ContextMethod is the way in which queries meet the keys and values of other ranks.
//   ring        blocks of keys and values go from rank to rank, while scores with the block that is
//               there are computed (ring attention, Liu et al. 2023)
//   all_gather  one all-gather of keys and values (Llama 3)
//   ulysses     an all-to-all each for queries, keys and values, by which a rank gets some heads of
//               the whole sequence, and one for the result (DeepSpeed-Ulysses)
enum class ContextMethod : std::uint8_t { ring, all_gather, ulysses };

// ContextParallelOptions are the options of context_parallel_attention.
struct ContextParallelOptions {
  ContextMethod method = ContextMethod::ring;
  SequenceOrder order = SequenceOrder::head_tail;
  bool is_causal = false;       // position i of the sequence sees positions up to i
  std::optional<double> scale;  // 1 / sqrt(E) where not given
};

// context_parallel_attention is scaled_dot_product_attention over a sequence that is cut over the
// ranks of a group: q [B, H, T, E], k [B, K, T, E] and v [B, K, T, F] are this rank's part of it,
// in the given order, and so is the result [B, H, T, F]. K divides H: heads h * H / K on share the
// key and value head h. Ranks may hold different lengths, or nothing.
//
// In exact arithmetic values and gradients have the bits of one device, by any method; in other
// arithmetics too, except the gradients of keys and values by ring and all_gather: these are sums
// over the rows of all ranks, which are rounded once a rank. The messages are the same in all
// arithmetics.
//
// For n ranks, by ring: forward n - 1 messages a rank; backward as many again, since blocks aren't
// kept, and n - 1 of gradients. By all_gather: one all_gather forward, one all_gather and one
// reduce_scatter backward. By ulysses: four all_to_alls forward, four backward. And one all_gather
// of shapes, of no bytes. Gradients of keys and values travel for each of the H heads, because each
// head's is a sum of its own. Memory is that of plain attention: a rank keeps the scores of its
// rows while it computes, and between forward and backward its own q, k and v.
//
// Raises a ValueError for shapes that don't go together, on this rank or between ranks.
Tensor context_parallel_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const ProcessGroup& group,
                                  const ContextParallelOptions& options = {});
// With a split that the ranks agreed on, no message is needed to find it; its order counts. Raises
// a ValueError where this rank holds another length.
Tensor context_parallel_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const SequenceSplit& split, const ProcessGroup& group,
                                  const ContextParallelOptions& options = {});

}  // namespace simmesh
