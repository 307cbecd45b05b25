#include "sharding/parallel/sequence_split.h"

#include <fmt/format.h>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

std::vector<std::int64_t> SequenceSplit::pieces_of(std::int64_t rank) const {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < piece_count(); ++i)
    if (owner(i) == rank && piece(i).length > 0) result.push_back(i);
  return result;
}

std::int64_t SequenceSplit::length_of(std::int64_t rank) const {
  std::int64_t total = 0;
  for (std::int64_t i : pieces_of(rank)) total += piece(i).length;
  return total;
}

std::int64_t SequenceSplit::start_within(std::int64_t index) const {
  // A rank's second piece follows its first.
  return index < ranks ? 0 : piece(2 * ranks - 1 - index).length;
}

std::vector<std::int64_t> SequenceSplit::positions_of(std::int64_t rank) const {
  std::vector<std::int64_t> result;
  for (std::int64_t i : pieces_of(rank))
    for (std::int64_t p = 0; p < piece(i).length; ++p) result.push_back(piece(i).start + p);
  return result;
}

std::vector<std::int64_t> SequenceSplit::order_of_ranks() const {
  std::vector<std::int64_t> result;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    for (std::int64_t position : positions_of(rank)) result.push_back(position);
  return result;
}

std::vector<std::int64_t> head_tail_order(std::int64_t length, std::int64_t ranks) {
  return SequenceSplit{length, ranks, SequenceOrder::head_tail}.order_of_ranks();
}

SequenceSplit split_of_lengths(const std::vector<std::int64_t>& lengths, SequenceOrder order) {
  SequenceSplit split{.length = 0, .ranks = std::int64_t(lengths.size()), .order = order};
  std::vector<std::int64_t> expected;
  for (std::int64_t length : lengths) split.length += length;
  for (std::int64_t rank = 0; rank < split.ranks; ++rank) expected.push_back(split.length_of(rank));
  if (lengths != expected)
    raise(ErrorKind::value_error, "sharding/context_parallel",
          "expected the ranks to hold {} of {} positions in {} order, got {}",
          join_text(expected, ", "), split.length,
          order == SequenceOrder::head_tail ? "head-tail" : "contiguous", join_text(lengths, ", "));
  return split;
}

SequenceSplit agreed_split(std::int64_t local_length, SequenceOrder order,
                           const ProcessGroup& group) {
  std::vector<std::int64_t> lengths;
  // The shape alone has the length, also where no elements are computed.
  for (const Tensor& shape : all_gather_list(empty({local_length, 0}, DType::float32), group))
    lengths.push_back(shape.size(0));
  return split_of_lengths(lengths, order);
}

Tensor in_sequence_order(gsl::span<const Tensor> parts, std::int64_t dim,
                         const SequenceSplit& split) {
  std::vector<Tensor> pieces;
  for (std::int64_t i = 0; i < split.piece_count(); ++i)
    if (std::int64_t length = split.piece(i).length; length > 0)
      pieces.push_back(
          narrow(parts[std::size_t(split.owner(i))], {dim, split.start_within(i), length}));
  return pieces.empty() ? parts[0] : cat(pieces, dim);
}

std::vector<Tensor> by_rank(const Tensor& whole, std::int64_t dim, const SequenceSplit& split) {
  std::vector<Tensor> result;
  for (std::int64_t rank = 0; rank < split.ranks; ++rank) {
    std::vector<Tensor> pieces;
    for (std::int64_t i : split.pieces_of(rank))
      pieces.push_back(narrow(whole, {dim, split.piece(i).start, split.piece(i).length}));
    result.push_back(pieces.empty() ? narrow(whole, {dim, 0, 0}) : cat(pieces, dim));
  }
  return result;
}

}  // namespace simmesh
