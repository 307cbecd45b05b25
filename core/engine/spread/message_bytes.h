#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/check/check.h"
#include "core/engine/spread/processes.h"

namespace simmesh {

// message_alignment is that of tensors' elements in a message, so that operators can read them
// there.
inline constexpr std::size_t message_alignment = 64;

// bytes_to_align returns how many bytes lie between a position and the next multiple of that.
inline std::size_t bytes_to_align(std::size_t position) {
  return (message_alignment - position % message_alignment) % message_alignment;
}

// MessageWriter writes the bytes of a message, and MessageReader reads them in the same order. Both
// sides are the same program on the same kind of machine.
class MessageWriter {
 public:
  MessageWriter() = default;
  // A writer of bytes goes on behind them.
  explicit MessageWriter(ProcessBytes bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { put_bytes(&value, sizeof value); }

  void put_bytes(const void* bytes, std::size_t count) {
    bytes_.append({static_cast<const std::byte*>(bytes), count});
  }

  void put_text(std::string_view text) {
    put(std::uint64_t(text.size()));
    put_bytes(text.data(), text.size());
  }

  // align adds zeros up to the next multiple of message_alignment.
  void align() {
    static constexpr std::array<std::byte, message_alignment> zeros = {};
    put_bytes(zeros.data(), bytes_to_align(bytes_.size()));
  }

  void reserve(std::size_t count) { bytes_.reserve(count); }
  ProcessBytes take() { return std::move(bytes_); }

 private:
  ProcessBytes bytes_;
};

// MessageReader checks that the bytes are there. A message that ends early is a broken contract.
class MessageReader {
 public:
  explicit MessageReader(gsl::span<const std::byte> bytes) : bytes_(bytes), begin_(bytes.data()) {}
  explicit MessageReader(const ProcessBytes& bytes)
      : MessageReader(gsl::span<const std::byte>(bytes)) {
    buffer_ = bytes.buffer();
  }

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    std::memcpy(&value, get_bytes(sizeof value).data(), sizeof value);
    return value;
  }

  gsl::span<const std::byte> get_bytes(std::size_t count) {
    SIMMESH_CHECK(count <= bytes_.size(), "{} bytes of a message with {} left", count,
                  bytes_.size());
    gsl::span<const std::byte> got = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return got;
  }

  std::string get_text() {
    auto text = get_bytes(std::size_t(get<std::uint64_t>()));
    return std::string(reinterpret_cast<const char*>(text.data()), text.size());
  }

  // align skips the zeros that the writer's align has added.
  void align() { get_bytes(bytes_to_align(position())); }

  gsl::span<const std::byte> rest() const { return bytes_; }
  // buffer is the block that begins with the message, null where only its bytes were given;
  // position is how many bytes of the message were read.
  const BufferPtr& buffer() const { return buffer_; }
  std::size_t position() const { return std::size_t(bytes_.data() - begin_); }

 private:
  gsl::span<const std::byte> bytes_;
  const std::byte* begin_;
  BufferPtr buffer_;
};

// message_text and message_bytes turn the bytes of a message into those of a string and back.
inline std::string message_text(const ProcessBytes& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}
inline gsl::span<const std::byte> message_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace simmesh
