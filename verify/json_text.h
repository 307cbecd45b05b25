#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh {

// JsonScan is the result of scanning JSON text from outside, before anything is built from it.
struct JsonScan {
  bool ok = false;
  bool is_object = false;
  std::vector<std::string>
      keys;           // of the top level, in order; those before the fault if it isn't ok
  std::string fault;  // the fault: "nesting deeper than 64"
  std::optional<std::size_t> fault_offset;  // in bytes, where it is known
};

// json_depth_max bounds the nesting of lists and objects.
inline constexpr std::size_t json_depth_max = 64;

// scan_json checks text without building a value: it must be one JSON value in valid UTF-8 with
// finite numbers, unique keys and at most json_depth_max levels. Never raises for bad text; takes
// memory for the keys only.
JsonScan scan_json(std::string_view text);

// parse_json returns the value of text that scan_json accepts.
nlohmann::json parse_json(std::string_view text);

// shown returns a value as short JSON text for a message: at most 80 bytes, valid UTF-8.
std::string shown(const nlohmann::json& value);

}  // namespace simmesh
