#include "replay/read/json_extent.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

namespace simmesh::replay {
namespace {

// Returns the end by the definition, one byte after another.
std::optional<std::size_t> end_by_definition(std::string_view text) {
  int depth = 0;
  bool is_in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_in_text && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      is_in_text = !is_in_text;
    } else if (!is_in_text) {
      depth += text[i] == '{' || text[i] == '[';
      depth -= text[i] == '}' || text[i] == ']';
      if (depth == 0) return i + 1;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> end_in_pieces(std::string_view text, std::size_t cut) {
  JsonExtent extent;
  if (auto end = extent.find_end(text.substr(0, cut))) return end;
  auto end = extent.find_end(text.substr(cut));
  return end ? std::optional(cut + *end) : std::nullopt;
}

TEST(JsonExtent, EndsWithTheBracketThatClosesTheFirst) {
  std::string text = R"({"a": [1, "}\"]", {}], "\\": "]"} , {)";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) EXPECT_EQ(end_in_pieces(text, cut), 33u);
  for (std::size_t size = 0; size < 33; ++size)
    EXPECT_EQ(end_in_pieces(text.substr(0, size), size / 2), std::nullopt);
}

// Blocks of 64 bytes are read together, so texts are longer than several of them, and significant
// bytes are at every place of one.
TEST(JsonExtent, AgreesWithTheDefinitionWhateverTheText) {
  std::mt19937 random(7);
  const std::string letters = "{}[]\"\\xxxxxxxxxxxx,: {[";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "{";
    std::size_t size = 1 + random() % 400;
    while (text.size() < size) text += letters[random() % letters.size()];
    std::size_t cut = random() % (text.size() + 1);
    ASSERT_EQ(end_in_pieces(text, cut), end_by_definition(text)) << text << " cut at " << cut;
  }
}

}  // namespace
}  // namespace simmesh::replay
