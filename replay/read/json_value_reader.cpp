#include "replay/read/json_value_reader.h"

namespace simmesh::replay {

simdjson::dom::element JsonValueReader::read(JsonPiece piece) {
  text_ = piece.text;
  simdjson::dom::element value;
  // The padding that the parser needs follows the text.
  if (!parser_.parse(text_.data(), text_.size(), false).get(value)) return value;
  try {
    repaired_ = repaired_json(piece.text, repairs_);
  } catch (JsonFault& fault) {
    fault.offset += piece.offset;
    throw;
  }
  text_ = repaired_;
  if (auto error = parser_.parse(repaired_).get(value))
    throw JsonFault{piece.offset, simdjson::error_message(error)};
  return value;
}

}  // namespace simmesh::replay
