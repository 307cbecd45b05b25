#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"

namespace simmesh {

// IndexRun is a stretch of neighbouring indices of one tensor dim.
struct IndexRun {
  std::int64_t start = 0;
  std::int64_t length = 0;

  std::int64_t end() const { return start + length; }
  bool operator==(const IndexRun&) const = default;
};

// IndexRuns lists the indices of one tensor dim that a rank holds, in the order in which it holds
// them. No run is empty and none continues the one before, so equal pieces have equal lists; an
// empty piece is an empty list.
using IndexRuns = boost::container::small_vector<IndexRun, 4>;

// index_count is the number of indices in all runs.
std::int64_t index_count(const IndexRuns& runs);

// append_run adds a run at the end; it may be empty or continue the last one.
void append_run(IndexRuns& runs, IndexRun run);

// Share is one rank's part of a split: part `index` out of `members`.
struct Share {
  std::int64_t members = 1;
  std::int64_t index = 0;
};

// chunk is the chunk rule: with c = ceil(size / members), part i holds [min(c*i, size),
// min(c*(i+1), size)). The last parts may be empty. Constant time.
IndexRun chunk(std::int64_t size, Share share);

// take_share returns the part of the piece `runs` that a split gives to a rank, as indices of the
// whole tensor dim.
//   Shard           the rank's chunk of the piece, in local order
//   StridedShard    the piece is cut into split_factor chunks; the rank's chunk of each, one after
//                   the other
//   RaggedShard     the piece is cut into as many equal units as the ranks hold in total; the
//                   rank's units
// Raises a ValueError where a ragged shard doesn't have one count per rank, or its units don't
// divide the piece.
IndexRuns take_share(const IndexRuns& runs, const Placement& split, Share share);

// ChunkSizes are the sizes of pieces, in ascending order, each once.
using ChunkSizes = boost::container::small_vector<std::int64_t, 8>;

// nested_chunk_sizes returns all sizes of pieces (0 among them where there is an empty one) that
// arise when a dim of `size` is chunked over the given numbers of ranks, one after the other.
ChunkSizes nested_chunk_sizes(std::int64_t size, DimSpan members);

}  // namespace simmesh
