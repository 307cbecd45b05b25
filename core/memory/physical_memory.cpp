#include "core/memory/physical_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

#include "core/memory/not_enough_memory.h"

namespace simmesh {

namespace {

constexpr std::size_t large_bytes = std::size_t(1) << 20;
constexpr std::size_t huge_page_bytes = std::size_t(2) << 20;

bool is_large(std::size_t bytes) { return bytes >= large_bytes; }

std::byte* allocate_block(std::size_t bytes) {
  if (!is_large(bytes))
    return static_cast<std::byte*>(
        allocate_or_raise(bytes, [bytes] { return std::malloc(std::max<std::size_t>(bytes, 1)); }));
  std::size_t alignment = bytes >= huge_page_bytes ? huge_page_bytes : 4096;
  std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (rounded < bytes) throw NotEnoughMemory(bytes);
  auto* block = static_cast<std::byte*>(
      allocate_or_raise(bytes, [&] { return std::aligned_alloc(alignment, rounded); }));
  if (alignment == huge_page_bytes) madvise(block, rounded, MADV_HUGEPAGE);
  return block;
}

}  // namespace

PhysicalMemory::PhysicalMemory(Options options) : options_(options) {}

PhysicalMemory::~PhysicalMemory() {
  for (const Block& block : cache_) std::free(block.begin);
}

std::byte* PhysicalMemory::allocate(PhysicalMemory* memory, std::size_t bytes) {
  std::byte* block = memory && is_large(bytes) ? memory->take_cached(bytes) : nullptr;
  if (!block) block = allocate_block(bytes);
  if (memory) {
    std::int64_t now = add_shared(memory->current_, std::int64_t(bytes));
    std::int64_t peak = memory->peak_.load(std::memory_order_relaxed);
    while (now > peak &&
           !memory->peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    add_shared(memory->live_buffers_, std::int64_t(1));
    if (memory->options_.poison) std::memset(block, 0xFF, bytes);
  }
  return block;
}

void PhysicalMemory::free(PhysicalMemory* memory, std::byte* block, std::size_t bytes) {
  if (memory) {
    if (memory->options_.poison) std::memset(block, 0xA5, bytes);
    add_shared(memory->current_, -std::int64_t(bytes));
    add_shared(memory->live_buffers_, std::int64_t(-1));
    if (is_large(bytes) && memory->keep_cached(block, bytes)) return;
  }
  std::free(block);
}

std::byte* PhysicalMemory::take_cached(std::size_t bytes) {
  std::lock_guard lock(cache_mutex_);
  auto found = std::find_if(cache_.begin(), cache_.end(),
                            [bytes](const Block& block) { return block.bytes == bytes; });
  if (found == cache_.end()) return nullptr;
  std::byte* begin = found->begin;
  cached_bytes_ -= bytes;
  cache_.erase(found);
  return begin;
}

bool PhysicalMemory::keep_cached(std::byte* block, std::size_t bytes) {
  std::lock_guard lock(cache_mutex_);
  if (bytes > options_.cached_bytes_max) return false;
  while (options_.lets_go_of_oldest && cached_bytes_ + bytes > options_.cached_bytes_max) {
    std::free(cache_.front().begin);
    cached_bytes_ -= cache_.front().bytes;
    cache_.erase(cache_.begin());
  }
  if (cached_bytes_ + bytes > options_.cached_bytes_max) return false;
  try {
    cache_.push_back({block, bytes});
  } catch (const std::bad_alloc&) {
    return false;
  }
  cached_bytes_ += bytes;
  return true;
}

}  // namespace simmesh
