#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "replay/read/byte_source.h"

namespace simmesh::replay {

// JsonPiece is the text of one JSON value. At least `padding` readable bytes follow it, as simdjson
// requires. The value may be malformed inside; its brackets and texts end.
struct JsonPiece {
  static constexpr std::size_t padding = 64;

  std::string_view text;
  std::size_t offset = 0;  // in the file
};

// JsonVisitor is called with the contents of an object at its top level. Keys come with their
// escapes.
struct JsonVisitor {
  // A list begins; each of its elements follows.
  std::function<void(std::string_view key)> list = nullptr;
  std::function<void(std::string_view key, JsonPiece element)> element = nullptr;
  // A value that isn't a list.
  std::function<void(std::string_view key, JsonPiece value)> value = nullptr;
  // The key under which a list comes that stands in place of the object; empty: it is refused. As
  // Chrome's format allows, such a list may lack its end.
  std::string_view bare_list = {};
};

// read_json_object walks through an object of any size and keeps one value of it at a time: an
// element of a list at its top level, or another value there. value_bytes_max bounds one of these.
// Raises a BadTrace for text that isn't JSON at its top level (rule "json", with the byte and the
// text around it) and for JSON that isn't an object ("top_level").
//
//   replay::TextSource source("trace", R"({"nodes": [1, 2]})");
//   std::size_t bytes = 0;
//   replay::read_json_object(source,
//                            {.element = [&](std::string_view, replay::JsonPiece node) {
//                              bytes += node.text.size();
//                            }});
void read_json_object(ByteSource& source, const JsonVisitor& visitor,
                      std::size_t value_bytes_max = std::size_t(1) << 28);

}  // namespace simmesh::replay
