#pragma once

#include <cstdint>
#include <vector>

#include "collectives/process_group.h"
#include "core/tensor/chunk.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// SequenceOrder is the order in which ranks hold the positions of a sequence. contiguous cuts it
// into one piece a rank; head_tail into two, of which rank r of n holds number r and number 2n - 1
// - r: under a causal mask all ranks then compute as many scores. Pieces are those of torch.chunk,
// so the last ones may be short or empty.
enum class SequenceOrder : std::uint8_t { contiguous, head_tail };

// SequenceSplit is a sequence that is cut over the ranks of a group. A rank holds its pieces one
// after the other.
//
//   SequenceSplit split{.length = 8, .ranks = 2, .order = SequenceOrder::head_tail};
//   split.pieces_of(0);   // {0, 3}: positions 0, 1, 6, 7
struct SequenceSplit {
  std::int64_t length;
  std::int64_t ranks;
  SequenceOrder order = SequenceOrder::contiguous;

  std::int64_t piece_count() const { return order == SequenceOrder::head_tail ? 2 * ranks : ranks; }
  // piece returns the positions of a piece, counted along the sequence.
  Chunk piece(std::int64_t index) const {
    return chunk_of({.size = length, .parts = piece_count(), .index = index});
  }
  // owner returns the rank that holds a piece.
  std::int64_t owner(std::int64_t index) const {
    return index < ranks ? index : 2 * ranks - 1 - index;
  }
  // pieces_of returns the pieces of a rank that aren't empty, in order of their positions.
  std::vector<std::int64_t> pieces_of(std::int64_t rank) const;
  std::int64_t length_of(std::int64_t rank) const;
  // start_within returns where a piece begins in its owner's part.
  std::int64_t start_within(std::int64_t index) const;
  // positions_of returns the positions that a rank holds, in its order; order_of_ranks those of all
  // ranks, one rank after the other.
  std::vector<std::int64_t> positions_of(std::int64_t rank) const;
  std::vector<std::int64_t> order_of_ranks() const;
};

// head_tail_order returns the positions of a sequence in the order in which the ranks hold them:
// rank after rank, each its head and its tail.
std::vector<std::int64_t> head_tail_order(std::int64_t length, std::int64_t ranks);

// split_of_lengths returns the split of a sequence of which each rank holds so many positions.
// Raises a ValueError where no sequence is split like that in that order.
SequenceSplit split_of_lengths(const std::vector<std::int64_t>& lengths, SequenceOrder order);

// agreed_split returns the split of a sequence of which this member holds so many positions: one
// all_gather of shapes, without a byte. Raises as split_of_lengths does, on all members.
SequenceSplit agreed_split(std::int64_t local_length, SequenceOrder order,
                           const ProcessGroup& group);

// in_sequence_order joins the ranks' parts of a tensor along a dim; by_rank cuts it up again. Both
// are ops on plain tensors.
Tensor in_sequence_order(gsl::span<const Tensor> parts, std::int64_t dim,
                         const SequenceSplit& split);
std::vector<Tensor> by_rank(const Tensor& whole, std::int64_t dim, const SequenceSplit& split);

}  // namespace simmesh
