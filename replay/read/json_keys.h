#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace simmesh::replay {

// JsonKey is a key at the top level of an object, and the first byte of its value: '[' for a list.
struct JsonKey {
  std::string_view name;  // with its escapes
  char value = '\0';
};

// JsonKeys are the keys at the top level of a text that begins with an object, or with a list of
// objects: then those of the first entry.
struct JsonKeys {
  enum class End : std::uint8_t {
    whole,     // the object was closed
    cut,       // the text ends within it
    not_json,  // it is something else
  };
  std::vector<JsonKey> keys;
  End end = End::not_json;
  bool is_list = false;
};

// json_keys reads the keys of a text, which may be the beginning of a file. Keys of inner objects
// don't count.
JsonKeys json_keys(std::string_view text);

}  // namespace simmesh::replay
