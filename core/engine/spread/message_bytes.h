#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/check/check.h"
#include "core/engine/spread/processes.h"

namespace simmesh {

// MessageWriter writes the bytes of a message, and MessageReader reads them in the same order. Both
// sides are the same program on the same kind of machine.
class MessageWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { put_bytes(&value, sizeof value); }

  void put_bytes(const void* bytes, std::size_t count) {
    auto begin = static_cast<const std::byte*>(bytes);
    bytes_.insert(bytes_.end(), begin, begin + count);
  }

  void put_text(std::string_view text) {
    put(std::uint64_t(text.size()));
    put_bytes(text.data(), text.size());
  }

  void reserve(std::size_t count) { bytes_.reserve(count); }
  ProcessBytes take() { return std::move(bytes_); }

 private:
  ProcessBytes bytes_;
};

// MessageReader checks that the bytes are there. A message that ends early is a broken contract.
class MessageReader {
 public:
  explicit MessageReader(gsl::span<const std::byte> bytes) : bytes_(bytes) {}

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

  gsl::span<const std::byte> rest() const { return bytes_; }

 private:
  gsl::span<const std::byte> bytes_;
};

// message_text and message_bytes turn the bytes of a message into those of a string and back.
inline std::string message_text(const ProcessBytes& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}
inline gsl::span<const std::byte> message_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace simmesh
