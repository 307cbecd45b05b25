#pragma once

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/memory/caching_allocator.h"
#include "core/memory/physical_memory.h"

namespace simmesh {

// MemoryCategory says what a rank's bytes are for; a storage keeps the category that was active
// when it was made.
enum class MemoryCategory : std::uint8_t {
  other,
  parameter,
  gradient,
  optimizer_state,
  activation,
  communication
};
inline constexpr std::size_t memory_category_count = 6;
std::string_view to_string(MemoryCategory category);

using StorageId = std::uint64_t;

// Ledger charges one rank as a real device would be charged: every storage counts in full, even
// where ranks share its bytes. Current and peak bytes are kept in all and by category. Only its own
// rank uses it.
//
//   Ledger::Category scope(MemoryCategory::gradient);   // of storages made below
//
// Memory outside the rank's device isn't charged: see Uncharged.
class Ledger : public boost::intrusive_ref_counter<Ledger, boost::thread_unsafe_counter> {
 public:
  // Bytes are what is charged now, and the most that was.
  struct Bytes {
    std::int64_t current = 0;
    std::int64_t peak = 0;
  };

  Ledger(std::uint32_t owner, boost::intrusive_ptr<PhysicalMemory> memory);

  // charge records a new storage and returns its id, which is never given again. Raises a
  // RuntimeError, and charges nothing, where the fault plan makes this allocation fail.
  StorageId charge(std::int64_t bytes);
  void release(std::int64_t bytes, MemoryCategory category);

  // model_allocator gives the rank's storages addresses in a simulated device from here on; place
  // returns the address of a new storage, 0 without a model. Raises a RuntimeError where the device
  // is full. unplace frees the address.
  void model_allocator(CachingAllocator::Options options);
  CachingAllocator* allocator() const { return allocator_.get(); }
  DeviceAddress place(std::int64_t bytes) { return allocator_ ? allocator_->allocate(bytes) : 0; }
  void unplace(DeviceAddress address) {
    if (address != 0) allocator_->free(address);
  }

  const Bytes& total() const { return total_; }
  const Bytes& of(MemoryCategory category) const { return by_category_[std::size_t(category)]; }
  std::int64_t live_storages() const { return live_storages_; }
  std::uint64_t allocations() const { return allocations_; }
  // copies_on_write counts how often the rank wrote to bytes it shared, and so got its own copy.
  std::uint64_t copies_on_write() const { return copies_on_write_; }
  void count_copy_on_write() { ++copies_on_write_; }

  MemoryCategory category() const { return category_; }
  PhysicalMemory& memory() const { return *memory_; }

  // fail_allocation makes the k-th allocation from the start of the run fail, counted from 1; 0 for
  // none.
  void fail_allocation(std::uint64_t k) { failing_allocation_ = k; }

  // active returns the ledger of the rank that runs on this thread; null outside any World.
  static Ledger* active() { return active_; }
  static void set_active(Ledger* ledger) { active_ = ledger; }

  // Category gives the storages that the rank makes while it lives this category. Outside any World
  // it does nothing.
  class Category {
   public:
    explicit Category(MemoryCategory category);
    ~Category();
    Category(const Category&) = delete;
    Category& operator=(const Category&) = delete;

   private:
    Ledger* ledger_;
    MemoryCategory before_ = MemoryCategory::other;
  };

  // Uncharged leaves storages that are made in its scope uncharged, because they aren't in the
  // rank's device: memory of the host, and what a kernel or a transport of ours takes for itself,
  // which a real device wouldn't take. The run counts their bytes as physical ones, and reports
  // those that outlive it as left alive. Where it doesn't apply it does nothing.
  class Uncharged {
   public:
    explicit Uncharged(bool applies = true) : ledger_(applies ? active() : nullptr) {
      if (ledger_) ++ledger_->uncharged_scopes_;
    }
    ~Uncharged() {
      if (ledger_) --ledger_->uncharged_scopes_;
    }
    Uncharged(const Uncharged&) = delete;
    Uncharged& operator=(const Uncharged&) = delete;

   private:
    Ledger* ledger_;
  };
  bool charges() const { return uncharged_scopes_ == 0; }

 private:
  static constinit inline thread_local Ledger* active_ = nullptr;

  Bytes total_;
  std::array<Bytes, memory_category_count> by_category_{};
  boost::intrusive_ptr<PhysicalMemory> memory_;
  std::unique_ptr<CachingAllocator> allocator_;
  std::uint64_t allocations_ = 0;
  std::uint64_t failing_allocation_ = 0;
  std::uint64_t copies_on_write_ = 0;
  std::int64_t live_storages_ = 0;
  std::int32_t uncharged_scopes_ = 0;
  std::uint32_t owner_;
  MemoryCategory category_ = MemoryCategory::other;
};

}  // namespace simmesh
