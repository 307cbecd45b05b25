#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/check/json_value.h"

namespace simmesh::checkpoint {

// Values that JSON doesn't have are objects with one key, their tag:
//
//   {"$bytes": "616263"}              b"abc", in hexadecimal digits
//   {"$integer": "36893488147419103232"}   an integer of more than 64 bits
//   {"$complex": [1.0, 2.0]}          1 + 2j
//   {"$range": [0, 10, 2]}, {"$slice": [null, 3, null]}, {"$timedelta": [days, seconds, us]}
//   {"$dict": [[1, "a"], [2, "b"]]}   a dict with keys that aren't texts
//   {"$array": {"dtype": "<f4", "shape": [2], "values": [1.5, 2.5]}}, or "bytes" for the values
//   {"$instance": {"class": "train.Phase", "value": 1}}   an enum, or a class of one plain value
//   {"$opaque": "train.Progress"}     a value of a class that isn't read
//
// The only key of another object gets a second '$' if it begins with one.

// tagged returns a value with a tag, such as "$bytes". tag_of returns the tag of a value; empty if
// it has none.
JsonValue tagged(std::string_view tag, JsonValue value);
std::string_view tag_of(const JsonValue& value);

// opaque_value returns the mark of a value that isn't read, with the name of its class.
JsonValue opaque_value(std::string_view class_name);

// hexadecimal_text returns two digits for each byte, and bytes_of_hexadecimal is its inverse, which
// raises a ValueError for other texts.
std::string hexadecimal_text(std::string_view bytes);
std::string bytes_of_hexadecimal(std::string_view digits);

// remove_opaque removes the marks from a value: their keys from objects, and their entries from
// lists, where null takes their place. It returns the names of their classes in order. A value that
// is a mark itself becomes null.
std::vector<std::string> remove_opaque(JsonValue& value);

}  // namespace simmesh::checkpoint
