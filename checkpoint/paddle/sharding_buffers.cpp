#include "checkpoint/paddle/sharding_buffers.h"

#include <algorithm>
#include <numeric>

#include "core/tensor/chunk.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::int64_t alignment_bytes = 256;

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t buffer_alignment(DType dtype) {
  return alignment_bytes / std::int64_t(bytes_per_element(dtype));
}

ReduceScatterBuffer reduce_scatter_buffer(gsl::span<const std::int64_t> numels, DType dtype,
                                          std::int64_t ranks) {
  ReduceScatterBuffer buffer;
  for (std::int64_t numel : numels) {
    buffer.index.push_back(buffer.numel);
    buffer.padded.push_back(rounded_up(numel, buffer_alignment(dtype) * ranks));
    buffer.numel += buffer.padded.back();
  }
  std::int64_t run = buffer.numel / ranks;
  buffer.slices.resize(std::size_t(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < numels.size(); ++i) {
      std::int64_t begin = std::max(buffer.index[i], run * rank);
      std::int64_t end = std::min(buffer.index[i] + buffer.padded[i], run * (rank + 1));
      std::optional<BufferSlice>& slice = buffer.slices[std::size_t(rank)].emplace_back();
      if (begin >= end) continue;
      std::int64_t data_end = buffer.index[i] + numels[i];
      slice = BufferSlice{begin, end, end - std::clamp(data_end, begin, end)};
    }
  return buffer;
}

FlatBuffer flat_buffer(gsl::span<const std::int64_t> numels, DType dtype) {
  FlatBuffer buffer;
  for (std::int64_t numel : numels) {
    buffer.offset.push_back(buffer.numel);
    buffer.numel += rounded_up(numel, buffer_alignment(dtype));
  }
  return buffer;
}

std::vector<std::vector<std::size_t>> bucket_groups(gsl::span<const std::int64_t> numels,
                                                    DType dtype, std::int64_t limit_bytes) {
  std::vector<std::vector<std::size_t>> groups;
  std::int64_t bytes = limit_bytes;
  for (std::size_t i = 0; i < numels.size(); ++i) {
    if (bytes >= limit_bytes) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(i);
    bytes += numels[i] * std::int64_t(bytes_per_element(dtype));
  }
  return groups;
}

std::vector<std::vector<std::size_t>> whole_parameter_owners(gsl::span<const std::int64_t> numels,
                                                             std::int64_t ranks) {
  std::vector<std::size_t> order(numels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return numels[a] > numels[b]; });
  std::vector<std::vector<std::size_t>> owned(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> sums(owned.size(), 0);
  for (std::size_t parameter : order) {
    auto rank = std::size_t(std::min_element(sums.begin(), sums.end()) - sums.begin());
    sums[rank] += numels[parameter];
    owned[rank].push_back(parameter);
  }
  return owned;
}

std::vector<BufferSlice> row_partition(std::int64_t rows, std::int64_t ranks) {
  std::vector<BufferSlice> slices;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Chunk chunk = chunk_of({.size = rows, .parts = ranks, .index = rank});
    slices.push_back({chunk.start, chunk.start + chunk.length, 0});
  }
  return slices;
}

FusedStates fused_states(gsl::span<const std::int64_t> numels) {
  FusedStates states;
  std::int64_t alignment = buffer_alignment(DType::float32);
  auto place = [&](std::int64_t numel) {
    std::int64_t begin = states.numel;
    states.numel += rounded_up(numel, alignment);
    return FusedStates::Range(begin, states.numel);
  };
  for (std::int64_t numel : numels) states.moment1.push_back(place(numel));
  for (std::int64_t numel : numels) states.moment2.push_back(place(numel));
  for (std::size_t i = 0; i < numels.size(); ++i) states.beta1_pow_acc.push_back(place(1));
  for (std::size_t i = 0; i < numels.size(); ++i) states.beta2_pow_acc.push_back(place(1));
  for (std::int64_t numel : numels) states.master.push_back(place(numel));
  return states;
}

}  // namespace simmesh::checkpoint
