#include "sharding/placement/shard_rule.h"

#include <algorithm>
#include <limits>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/tensor/chunk.h"

namespace simmesh {
namespace {

constexpr std::int64_t divided_up(std::int64_t size, std::int64_t parts) {
  return size / parts + (size % parts != 0);
}

// append_slice adds the local positions [begin, begin + length) of the piece.
void append_slice(IndexRuns& target, const IndexRuns& piece, IndexRun slice) {
  std::int64_t position = 0;
  for (const IndexRun& run : piece) {
    if (position >= slice.end()) return;
    const std::int64_t begin = std::max(slice.start, position);
    const std::int64_t end = std::min(slice.end(), position + run.length);
    if (begin < end) append_run(target, {run.start + (begin - position), end - begin});
    position += run.length;
  }
}

IndexRuns strided_share(const IndexRuns& runs, std::int64_t split_factor, Share share) {
  const std::int64_t size = index_count(runs);
  const std::int64_t step = divided_up(size, split_factor);
  IndexRuns result;
  for (std::int64_t start = 0; start < size; start += step) {
    IndexRun part = chunk(std::min(step, size - start), share);
    append_slice(result, runs, {start + part.start, part.length});
  }
  return result;
}

IndexRuns ragged_share(const IndexRuns& runs, const Placement& split, Share share) {
  const DimSpan units = split.units();
  if (static_cast<std::int64_t>(units.size()) != share.members)
    raise(ErrorKind::value_error, "sharding/shard_rule",
          "expected {} unit counts, one per rank of the mesh dim, got {}", share.members,
          to_string(split));
  std::int64_t total = 0;
  std::int64_t before = 0;
  bool overflow = false;
  for (std::int64_t rank = 0; rank < share.members; ++rank) {
    if (rank == share.index) before = total;
    overflow |= __builtin_add_overflow(total, units[rank], &total);
  }
  const std::int64_t size = index_count(runs);
  if (overflow || (total == 0 ? size != 0 : size % total != 0))
    raise(ErrorKind::value_error, "sharding/shard_rule",
          "expected a dim that the units of {} divide, got one of size {}", to_string(split), size);
  IndexRuns result;
  if (size == 0) return result;
  const std::int64_t unit = size / total;
  append_slice(result, runs, {before * unit, units[share.index] * unit});
  return result;
}

}  // namespace

std::int64_t index_count(const IndexRuns& runs) {
  std::int64_t count = 0;
  for (const IndexRun& run : runs) count += run.length;
  return count;
}

void append_run(IndexRuns& runs, IndexRun run) {
  if (run.length == 0) return;
  if (!runs.empty() && runs.back().end() == run.start)
    runs.back().length += run.length;
  else
    runs.push_back(run);
}

IndexRun chunk(std::int64_t size, Share share) {
  Chunk part = chunk_of({.size = size, .parts = share.members, .index = share.index});
  return {part.start, part.length};
}

IndexRuns take_share(const IndexRuns& runs, const Placement& split, Share share) {
  SIMMESH_CHECK(share.index >= 0 && share.index < share.members, "part {} of {}", share.index,
                share.members);
  switch (split.kind()) {
    case Placement::Kind::shard: {
      IndexRuns result;
      append_slice(result, runs, chunk(index_count(runs), share));
      return result;
    }
    case Placement::Kind::strided_shard: return strided_share(runs, split.split_factor(), share);
    case Placement::Kind::ragged_shard: return ragged_share(runs, split, share);
    default: SIMMESH_CHECK(false, "{} doesn't split", to_string(split));
  }
}

ChunkSizes nested_chunk_sizes(std::int64_t size, DimSpan members) {
  ChunkSizes sizes = {size};
  for (std::int64_t parts : members) {
    ChunkSizes next;
    for (std::int64_t whole : sizes) {
      const std::int64_t step = divided_up(whole, parts);
      const std::int64_t full = step == 0 ? 0 : whole / step;
      const std::int64_t rest = step == 0 ? 0 : whole % step;
      if (full > 0) next.push_back(step);
      if (full < parts) next.push_back(rest);
      if (full + 1 < parts) next.push_back(0);
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    sizes = std::move(next);
  }
  return sizes;
}

}  // namespace simmesh
