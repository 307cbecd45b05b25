#include "core/engine/spread/process_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check/check.h"
#include "core/memory/physical_memory.h"

namespace simmesh {

namespace {

// A process sends and receives about as much in an exchange as its ranks' operands have.
constexpr std::size_t kept_bytes_max = std::size_t(256) << 20;

PhysicalMemory* message_memory() {
  static const boost::intrusive_ptr<PhysicalMemory> memory(
      new PhysicalMemory({.cached_bytes_max = kept_bytes_max, .lets_go_of_oldest = true}));
  return memory.get();
}

// Messages of about the same size use the same blocks: sizes are rounded up by an eighth at most.
std::size_t rounded(std::size_t bytes) {
  std::size_t step = 16;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

BufferPtr new_block(std::size_t bytes) { return Buffer::make(rounded(bytes), message_memory()); }

}  // namespace

ProcessBytes ProcessBytes::uninitialised(std::size_t count) {
  ProcessBytes bytes;
  if (count > 0) bytes.buffer_ = new_block(count);
  bytes.size_ = count;
  return bytes;
}

void ProcessBytes::move_to(std::size_t capacity) {
  BufferPtr own = new_block(capacity);
  if (size_ > 0) std::memcpy(own->data(), data(), size_);
  buffer_ = std::move(own);
}

std::byte* ProcessBytes::mutable_data() {
  if (!buffer_) return nullptr;
  if (buffer_->is_shared()) move_to(size_);
  return buffer_->data();
}

void ProcessBytes::reserve(std::size_t count) {
  if (!buffer_ || buffer_->bytes() < count) move_to(std::max(count, size_));
}

void ProcessBytes::append(gsl::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  std::size_t count = size_ + bytes.size();
  if (!buffer_ || buffer_->bytes() < count)
    move_to(std::max(count, 2 * size_));
  else if (buffer_->is_shared())
    move_to(count);
  std::memcpy(buffer_->data() + size_, bytes.data(), bytes.size());
  size_ = count;
}

void ProcessBytes::shorten(std::size_t count) {
  SIMMESH_CHECK(count <= size_, "the first {} of {} bytes of a message", count, size_);
  size_ = count;
}

bool operator==(const ProcessBytes& a, const ProcessBytes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace simmesh
