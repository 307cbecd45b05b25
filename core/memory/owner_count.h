#pragma once

#include <atomic>
#include <cstdint>
#include <sys/single_threaded.h>

namespace simmesh {

// is_single_threaded is true while the process has one thread, by the test that std::shared_ptr
// uses: then counts that threads would share need no atomic additions, which cost more than most of
// what they count.
inline bool is_single_threaded() noexcept { return __libc_single_threaded != 0; }

// add_shared adds to a count that threads may share, and returns the sum.
template <class T>
T add_shared(std::atomic<T>& count, T amount) noexcept {
  if (!is_single_threaded()) return count.fetch_add(amount, std::memory_order_relaxed) + amount;
  T sum = count.load(std::memory_order_relaxed) + amount;
  count.store(sum, std::memory_order_relaxed);
  return sum;
}

// OwnerCount counts the owners of an object that threads may share, for
// boost::intrusive_ref_counter. The only owner gives up without an atomic subtraction, since nobody
// else can become an owner.
struct OwnerCount {
  using type = std::atomic<std::uint32_t>;

  static std::uint32_t load(const type& owners) noexcept {
    return owners.load(std::memory_order_acquire);
  }
  static void increment(type& owners) noexcept { add_shared(owners, std::uint32_t(1)); }
  // decrement returns how many owners are left.
  static std::uint32_t decrement(type& owners) noexcept {
    std::uint32_t before = owners.load(std::memory_order_acquire);
    if (before != 1 && !is_single_threaded())
      return owners.fetch_sub(1, std::memory_order_acq_rel) - 1;
    owners.store(before - 1, std::memory_order_relaxed);
    return before - 1;
  }
};

}  // namespace simmesh
