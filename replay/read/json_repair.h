#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace simmesh::replay {

// JsonRepairs counts what isn't JSON and is read anyhow, because it has one meaning.
struct JsonRepairs {
  std::int64_t not_finite = 0;   // inf, NaN and numbers beyond doubles, read as null
  std::int64_t bad_bytes = 0;    // in texts: bytes that aren't UTF-8, read as U+FFFD
  std::int64_t controls = 0;     // in texts: control characters without an escape
  std::int64_t backslashes = 0;  // in texts: those that escape nothing, as in "C:\Users"
  std::int64_t wide = 0;         // integers of more than 64 bits, read as doubles
  std::int64_t commas = 0;       // after the last entry

  std::int64_t sum() const {
    return not_finite + bad_bytes + controls + backslashes + wide + commas;
  }
};

// to_string returns the counts in words: "2 numbers that are infinite or NaN, 1 byte that isn't
// UTF-8".
std::string to_string(const JsonRepairs& repairs);

// JsonFault is a place in a text that has no single meaning as JSON.
struct JsonFault {
  std::size_t offset = 0;
  std::string message;     // with some of the text around
  bool is_at_end = false;  // the text ends early
};

// repaired_json returns a text as JSON that a strict reader takes, and counts what it changed.
// Raises a JsonFault for the first place that it can't read.
//
//   replay::JsonRepairs repairs;
//   replay::repaired_json("[inf]", repairs);  // "[null]"
std::string repaired_json(std::string_view text, JsonRepairs& repairs);

// shown_bytes returns bytes for a message: those that aren't printable ASCII as "\x1f".
std::string shown_bytes(std::string_view bytes);

// text_around returns the part of a text around a place, for messages; at most 24 bytes on each
// side.
std::string text_around(std::string_view text, std::size_t place);

}  // namespace simmesh::replay
