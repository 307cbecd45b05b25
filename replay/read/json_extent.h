#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace simmesh::replay {

// JsonExtent finds the end of a list or an object in text that comes in pieces, by its brackets and
// quotes alone.
//
//   replay::JsonExtent piecewise;
//   piecewise.find_end("[[1, ");  // nullopt: it goes on
//   piecewise.find_end("2]], 3");  // 3
class JsonExtent {
 public:
  // find_end takes the next piece and returns how many of its bytes belong to the value; nullopt
  // where the value doesn't end in it. The first byte of the first piece opens the value.
  std::optional<std::size_t> find_end(std::string_view piece);

 private:
  std::optional<std::size_t> find_end_by_bytes(std::string_view piece);

  std::int64_t depth_ = 0;
  bool is_in_text_ = false;
  bool is_escaped_ = false;
};

}  // namespace simmesh::replay
