#pragma once

#include <simdjson.h>
#include <string>
#include <string_view>

#include "replay/read/json_repair.h"
#include "replay/read/json_stream.h"

namespace simmesh::replay {

// JsonValueReader parses the values of one file, and repairs those that aren't JSON but have one
// meaning.
class JsonValueReader {
 public:
  // read returns the value of a piece, which stays valid until the next read. Raises a JsonFault,
  // whose offset is that in the file, where it can't be read.
  simdjson::dom::element read(JsonPiece piece);

  // text returns the text of the value that was read last, repaired.
  std::string_view text() const { return text_; }
  const JsonRepairs& repairs() const { return repairs_; }

 private:
  simdjson::dom::parser parser_;
  JsonRepairs repairs_;
  std::string repaired_;
  std::string_view text_;
};

}  // namespace simmesh::replay
