#include "core/memory/caching_allocator.h"

#include <algorithm>

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

// Constants of PyTorch's c10/cuda/CUDACachingAllocator.
constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t block_bytes_min = 512;
constexpr std::int64_t small_bytes_max = mebibyte;
constexpr std::int64_t small_segment_bytes = 2 * mebibyte;
constexpr std::int64_t shared_bytes_max = 10 * mebibyte;
constexpr std::int64_t shared_segment_bytes = 20 * mebibyte;
constexpr std::int64_t segment_rounding_bytes = 2 * mebibyte;

std::int64_t block_rounded_up(std::int64_t bytes, std::int64_t to) {
  return (bytes + to - 1) / to * to;
}

std::int64_t segment_bytes_for(std::int64_t bytes) {
  if (bytes <= small_bytes_max) return small_segment_bytes;
  if (bytes < shared_bytes_max) return shared_segment_bytes;
  return block_rounded_up(bytes, segment_rounding_bytes);
}

void add_bytes(AllocatorFigures::Bytes& bytes, std::int64_t amount) {
  bytes.current += amount;
  bytes.peak = std::max(bytes.peak, bytes.current);
}

std::uint64_t& count_of(std::vector<std::uint64_t>& counts, StreamIndex stream) {
  if (stream >= counts.size()) counts.resize(std::size_t(stream) + 1);
  return counts[stream];
}

}  // namespace

CachingAllocator::FreeKey CachingAllocator::key_of(const Blocks::value_type& entry) {
  const Block& block = entry.second;
  return {block.is_small, block.pool, block.stream, block.bytes, entry.first};
}

DeviceAddress CachingAllocator::allocate(std::int64_t bytes) {
  if (bytes == 0) return 0;
  return_completed(false);
  std::int64_t rounded = block_rounded_up(bytes, block_bytes_min);
  bool is_small = rounded <= small_bytes_max;
  Blocks::iterator block = find_free(rounded, is_small);
  if (block == blocks_.end()) block = new_segment(rounded, is_small);
  free_.erase(key_of(*block));
  block->second.is_free = false;
  block->second.requested = bytes;
  split(block, rounded);
  add_bytes(figures_.allocated, block->second.bytes);
  add_bytes(figures_.active, block->second.bytes);
  return block->first;
}

// Finds the smallest block that is large enough; of equal ones the one at the lowest address.
CachingAllocator::Blocks::iterator CachingAllocator::find_free(std::int64_t bytes, bool is_small) {
  auto found = free_.lower_bound({is_small, pool_, stream_, bytes, 0});
  if (found == free_.end()) return blocks_.end();
  auto [found_small, found_pool, found_stream, found_bytes, address] = *found;
  bool in_pool = found_small == is_small && found_pool == pool_ && found_stream == stream_;
  return in_pool ? blocks_.find(address) : blocks_.end();
}

bool CachingAllocator::fits(std::int64_t segment_bytes) const {
  return options_.capacity_bytes == 0 ||
         figures_.reserved.current + segment_bytes <= options_.capacity_bytes;
}

CachingAllocator::Blocks::iterator CachingAllocator::new_segment(std::int64_t bytes,
                                                                 bool is_small) {
  std::int64_t segment_bytes = segment_bytes_for(bytes);
  if (!fits(segment_bytes)) {
    return_completed(true);
    ++figures_.cache_flushes;
    flush();
    if (!fits(segment_bytes)) refuse(bytes);
  }
  DeviceAddress begin = next_segment_;
  next_segment_ += DeviceAddress(block_rounded_up(segment_bytes, segment_rounding_bytes));
  ++figures_.segments;
  add_bytes(figures_.reserved, segment_bytes);
  auto [block, made] = blocks_.emplace(begin, Block{.bytes = segment_bytes,
                                                    .requested = 0,
                                                    .segment = begin,
                                                    .stream = stream_,
                                                    .pool = pool_,
                                                    .is_small = is_small,
                                                    .is_free = true,
                                                    .users = {}});
  free_.insert(key_of(*block));
  return block;
}

void CachingAllocator::split(Blocks::iterator block, std::int64_t bytes) {
  std::int64_t left = block->second.bytes - bytes;
  bool splits = block->second.is_small ? left >= block_bytes_min : left > small_bytes_max;
  if (!splits) return;
  Block rest = block->second;
  rest.bytes = left;
  rest.requested = 0;
  rest.is_free = true;
  block->second.bytes = bytes;
  auto [at, made] = blocks_.emplace(block->first + DeviceAddress(bytes), std::move(rest));
  free_.insert(key_of(*at));
}

void CachingAllocator::free(DeviceAddress address) {
  if (address == 0) return;
  Blocks::iterator block = blocks_.find(address);
  SIMMESH_CHECK(block != blocks_.end() && !block->second.is_free, "no block at {:#x}", address);
  add_bytes(figures_.allocated, -block->second.bytes);
  if (block->second.users.empty()) return give_back(block);
  std::vector<PendingUse> pending;
  for (StreamIndex user : block->second.users) pending.push_back({user, count_of(launched_, user)});
  block->second.users.clear();
  waiting_.emplace_back(address, std::move(pending));
}

void CachingAllocator::record_stream(DeviceAddress address, StreamIndex stream) {
  if (address == 0) return;
  Blocks::iterator block = blocks_.find(address);
  SIMMESH_CHECK(block != blocks_.end() && !block->second.is_free, "no block at {:#x}", address);
  std::vector<StreamIndex>& users = block->second.users;
  if (stream != block->second.stream &&
      std::find(users.begin(), users.end(), stream) == users.end())
    users.push_back(stream);
}

void CachingAllocator::give_back(Blocks::iterator block) {
  add_bytes(figures_.active, -block->second.bytes);
  block->second.is_free = true;
  block = merge(block);
  free_.insert(key_of(*block));
}

CachingAllocator::Blocks::iterator CachingAllocator::merge(Blocks::iterator block) {
  auto goes_with = [&](Blocks::iterator other) {
    return other != blocks_.end() && other->second.is_free &&
           other->second.segment == block->second.segment;
  };
  if (Blocks::iterator next = std::next(block); goes_with(next)) {
    free_.erase(key_of(*next));
    block->second.bytes += next->second.bytes;
    blocks_.erase(next);
  }
  if (block == blocks_.begin() || !goes_with(std::prev(block))) return block;
  Blocks::iterator before = std::prev(block);
  free_.erase(key_of(*before));
  before->second.bytes += block->second.bytes;
  blocks_.erase(block);
  return before;
}

void CachingAllocator::launched(StreamIndex stream, std::uint64_t operations) {
  count_of(launched_, stream) = operations;
}

void CachingAllocator::completed(StreamIndex stream, std::uint64_t operations) {
  std::uint64_t& known = count_of(completed_, stream);
  known = std::max(known, operations);
}

void CachingAllocator::return_completed(bool all) {
  if (waiting_.empty()) return;
  auto is_through = [&](const PendingUse& use) {
    return all || count_of(completed_, use.stream) >= use.operations;
  };
  std::vector<DeviceAddress> through;
  auto still_waits = [&](auto& entry) {
    auto& [address, pending] = entry;
    if (!std::all_of(pending.begin(), pending.end(), is_through)) return true;
    through.push_back(address);
    return false;
  };
  auto end = std::stable_partition(waiting_.begin(), waiting_.end(), still_waits);
  waiting_.erase(end, waiting_.end());
  for (DeviceAddress address : through) give_back(blocks_.find(address));
}

bool CachingAllocator::is_whole_segment(Blocks::iterator block) const {
  Blocks::const_iterator next = std::next(block);
  bool is_first = block->first == block->second.segment;
  return is_first && (next == blocks_.end() || next->second.segment != block->second.segment);
}

void CachingAllocator::flush() {
  for (Blocks::iterator block = blocks_.begin(); block != blocks_.end();) {
    Blocks::iterator at = block++;
    if (!at->second.is_free || !is_whole_segment(at)) continue;
    add_bytes(figures_.reserved, -at->second.bytes);
    --figures_.segments;
    free_.erase(key_of(*at));
    blocks_.erase(at);
  }
}

void CachingAllocator::refuse(std::int64_t bytes) const {
  raise(ErrorKind::runtime_error, "memory/caching_allocator",
        "out of memory: expected room for {} bytes on stream {}, got a device of {} bytes with {} "
        "reserved in {} segments, of which {} are active",
        bytes, stream_, options_.capacity_bytes, figures_.reserved.current, figures_.segments,
        figures_.active.current);
}

}  // namespace simmesh
