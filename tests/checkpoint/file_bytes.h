#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/store/store.h"

namespace simmesh::checkpoint::testing {

// bytes_of returns the bytes of a text.
inline std::vector<std::byte> bytes_of(std::string_view text) {
  auto bytes = gsl::as_bytes(gsl::span<const char>(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

// text_of returns bytes as a text.
inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// add_file writes a file of a store.
inline void add_file(Store& store, const std::string& path, std::string_view text) {
  store.create(path)->append(bytes_of(text));
}

}  // namespace simmesh::checkpoint::testing
