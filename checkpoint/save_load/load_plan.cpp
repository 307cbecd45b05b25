#include "checkpoint/save_load/load_plan.h"

#include <algorithm>
#include <numeric>

namespace simmesh::checkpoint {

namespace {

// Returns the dim of the largest extent, the first of equal ones.
std::size_t sweep_dim(const Box& wanted, gsl::span<const Box> chunks) {
  std::size_t sweep = 0;
  std::int64_t largest = -1;
  for (std::size_t dim = 0; dim < wanted.sizes.size(); ++dim) {
    std::int64_t extent = wanted.end(dim);
    for (const Box& chunk : chunks) extent = std::max(extent, chunk.end(dim));
    if (extent > largest) {
      largest = extent;
      sweep = dim;
    }
  }
  return sweep;
}

}  // namespace

std::vector<BoxRead> plan_reads(const Box& wanted, gsl::span<const Box> chunks) {
  std::vector<BoxRead> reads;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (auto common = intersection(wanted, chunks[i]))
      reads.push_back({i, relative_to(*common, chunks[i]).offsets,
                       relative_to(*common, wanted).offsets, common->sizes});
  if (wanted.sizes.empty()) return reads;
  std::size_t sweep = sweep_dim(wanted, chunks);
  std::stable_sort(reads.begin(), reads.end(), [&](const BoxRead& a, const BoxRead& b) {
    return chunks[a.chunk].end(sweep) < chunks[b.chunk].end(sweep);
  });
  return reads;
}

}  // namespace simmesh::checkpoint
