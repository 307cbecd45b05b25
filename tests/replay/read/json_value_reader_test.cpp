#include "replay/read/json_value_reader.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

// A piece of a text, with the bytes that must be readable after it.
struct PaddedPiece {
  explicit PaddedPiece(std::string_view text) : bytes(text), size(text.size()) {
    bytes.resize(size + JsonPiece::padding);
  }
  JsonPiece piece() const { return {{bytes.data(), size}, 100}; }

  std::string bytes;
  std::size_t size;
};

// Would fail if a repaired value weren't that of the text, or if counts began anew.
TEST(JsonValueReader, RepairsAndCounts) {
  JsonValueReader reader;
  PaddedPiece sound("{\"a\": 7}"), broken("{\"a\": inf, \"b\": 8}");
  EXPECT_EQ(std::int64_t(reader.read(sound.piece())["a"]), 7);
  EXPECT_EQ(reader.text(), "{\"a\": 7}");
  for (int i = 0; i < 2; ++i) {
    simdjson::dom::element value = reader.read(broken.piece());
    EXPECT_EQ(std::int64_t(value["b"]), 8);
    EXPECT_TRUE(value["a"].is_null());
  }
  EXPECT_EQ(reader.text().find("inf"), std::string_view::npos);
  EXPECT_EQ(reader.repairs().not_finite, 2);
}

// Would fail if a fault's place were that in the piece and not that in the file.
TEST(JsonValueReader, NamesThePlaceInTheFile) {
  JsonValueReader reader;
  PaddedPiece broken("[1 2]");
  try {
    reader.read(broken.piece());
    FAIL() << "read";
  } catch (const JsonFault& fault) {
    EXPECT_EQ(fault.offset, 103u);
  }
}

}  // namespace
}  // namespace simmesh::replay
