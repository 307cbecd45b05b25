#pragma once

#include <atomic>

namespace simmesh {

// Relaxed is a value that one thread may write while another one reads it, which then gets either
// the old or the new one. It orders nothing else.
//
//   Relaxed<bool> ended = false;
//   ended = true;   // by the thread that ends a run
//   if (ended) ...  // by a thread that runs ahead
template <class T>
class Relaxed {
 public:
  Relaxed(T value) : value_(value) {}
  Relaxed(const Relaxed& other) : value_(T(other)) {}
  Relaxed& operator=(const Relaxed& other) { return *this = T(other); }
  Relaxed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }

  operator T() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

}  // namespace simmesh
