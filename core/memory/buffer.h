#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/memory/companion.h"
#include "core/memory/owner_count.h"
#include "core/memory/physical_memory.h"

namespace simmesh {

class Buffer;
using BufferPtr = boost::intrusive_ptr<Buffer>;

// Buffer is a reference-counted block of bytes. While it has one owner that owner may write; as
// soon as several own it, it is immutable, and a Storage that wants to write copies first. Header
// and bytes are one allocation.
class Buffer {
 public:
  // make returns a buffer of uninitialised bytes, which `memory` counts unless it is null.
  static BufferPtr make(std::size_t bytes, PhysicalMemory* memory);

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::size_t bytes() const { return bytes_; }
  std::byte* data() { return reinterpret_cast<std::byte*>(this) + header_bytes; }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(this) + header_bytes; }
  bool is_shared() const { return owners_.load(std::memory_order_acquire) > 1; }

  // companion is what a layer above keeps about the elements. Only the owner that may write sets
  // it.
  const CompanionPtr& companion() const { return companion_; }
  void set_companion(CompanionPtr companion) { companion_ = std::move(companion); }

 private:
  static constexpr std::size_t header_bytes = 64;

  Buffer(std::size_t bytes, PhysicalMemory* memory) : bytes_(bytes), memory_(memory) {}
  ~Buffer() = default;
  static void destroy(Buffer* buffer) noexcept;

  friend void intrusive_ptr_add_ref(Buffer* buffer) noexcept {
    OwnerCount::increment(buffer->owners_);
  }
  friend void intrusive_ptr_release(Buffer* buffer) noexcept {
    if (OwnerCount::decrement(buffer->owners_) == 0) destroy(buffer);
  }

  OwnerCount::type owners_{0};
  std::size_t bytes_;
  boost::intrusive_ptr<PhysicalMemory> memory_;
  CompanionPtr companion_;
};

}  // namespace simmesh
