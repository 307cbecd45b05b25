#pragma once

#include <cstddef>
#include <gsl/span>
#include <initializer_list>
#include <utility>

#include "core/memory/buffer.h"

namespace simmesh {

// ProcessBytes are the bytes of a message between processes. Copies share them; a change of shared
// bytes makes own ones first. Large blocks are kept for later messages, because fresh pages cost
// more than the copies into them.
//
//   ProcessBytes bytes = {std::byte{1}, std::byte{2}};
//   ProcessBytes same = bytes;
//   same.shorten(1);                          // the bytes are those of `bytes` still
class ProcessBytes {
 public:
  ProcessBytes() = default;
  explicit ProcessBytes(gsl::span<const std::byte> bytes) { append(bytes); }
  ProcessBytes(std::initializer_list<std::byte> bytes) { append({bytes.begin(), bytes.size()}); }
  ProcessBytes(const ProcessBytes&) = default;
  ProcessBytes& operator=(const ProcessBytes&) = default;
  // Bytes that are moved from are empty.
  ProcessBytes(ProcessBytes&& other) noexcept
      : buffer_(std::move(other.buffer_)), size_(std::exchange(other.size_, 0)) {}
  ProcessBytes& operator=(ProcessBytes&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~ProcessBytes() = default;

  // uninitialised returns so many bytes, which the caller writes.
  static ProcessBytes uninitialised(std::size_t count);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::byte* data() const { return buffer_ ? buffer_->data() : nullptr; }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size_; }
  // mutable_data returns bytes that nobody else sees.
  std::byte* mutable_data();
  // buffer returns the block that begins with the bytes, null for none. Its owners keep the bytes
  // as they are.
  const BufferPtr& buffer() const { return buffer_; }

  // reserve makes room for `count` bytes in all, so that fewer are appended without a copy.
  void reserve(std::size_t count);
  void append(gsl::span<const std::byte> bytes);
  // shorten leaves the first `count` bytes, which there are, and copies nothing.
  void shorten(std::size_t count);

  friend bool operator==(const ProcessBytes& a, const ProcessBytes& b);

 private:
  void move_to(std::size_t capacity);

  BufferPtr buffer_;
  std::size_t size_ = 0;
};

}  // namespace simmesh
