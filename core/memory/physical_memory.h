#pragma once

#include <atomic>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/memory/owner_count.h"

namespace simmesh {

// PhysicalMemory gives and takes back the bytes that buffers really use, and counts them: bytes
// that several ranks share count once. A World has one; buffers made outside any World use none.
// Large blocks are kept for reuse, because fresh pages cost more than the copies into them.
class PhysicalMemory : public boost::intrusive_ref_counter<PhysicalMemory, OwnerCount> {
 public:
  struct Options {
    // Fresh bytes are 0xFF, which is NaN in every float dtype, and freed ones become 0xA5.
    bool poison = false;
    std::size_t cached_bytes_max = std::size_t(512) << 20;  // of large blocks
    // A full cache lets go of its oldest blocks for a new one, in place of the new one.
    bool lets_go_of_oldest = false;
  };

  explicit PhysicalMemory(Options options);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  std::int64_t current_bytes() const { return current_.load(std::memory_order_relaxed); }
  std::int64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  std::int64_t live_buffers() const { return live_buffers_.load(std::memory_order_relaxed); }
  // live_uncharged is the number of storages that belong to the World and are charged to no rank;
  // any thread may read and change it.
  std::int64_t live_uncharged() const { return live_uncharged_.load(std::memory_order_relaxed); }
  void count_uncharged(std::int64_t more) { add_shared(live_uncharged_, more); }
  bool poisons() const { return options_.poison; }

  // restart_peak forgets earlier peaks; a run starts with it.
  void restart_peak() { peak_.store(current_bytes(), std::memory_order_relaxed); }

  // allocate returns at least `bytes` bytes aligned to 16 (4096 for large blocks), uninitialised.
  // Raises std::bad_alloc.
  static std::byte* allocate(PhysicalMemory* memory, std::size_t bytes);
  static void free(PhysicalMemory* memory, std::byte* block, std::size_t bytes);

 private:
  struct Block {
    std::byte* begin;
    std::size_t bytes;
  };

  std::byte* take_cached(std::size_t bytes);
  bool keep_cached(std::byte* block, std::size_t bytes);

  Options options_;
  std::atomic<std::int64_t> current_{0};
  std::atomic<std::int64_t> peak_{0};
  std::atomic<std::int64_t> live_buffers_{0};
  std::atomic<std::int64_t> live_uncharged_{0};
  std::mutex cache_mutex_;
  std::vector<Block> cache_;
  std::size_t cached_bytes_ = 0;
};

}  // namespace simmesh
