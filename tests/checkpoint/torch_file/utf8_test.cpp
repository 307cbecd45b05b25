#include "checkpoint/torch_file/utf8.h"

#include <gtest/gtest.h>

namespace simmesh::checkpoint {
namespace {

// Bytes of Python 2 are told from texts by this alone.
TEST(Utf8, KnowsWhatIsText) {
  for (const char* text : {"", "abc", "\u00e9", "\u20ac", "\U0001f600", "\xed\xa0\x80"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(Utf8, CharactersOfAllLengthsComeBack) {
  std::string text;
  for (char32_t character : {U'a', U'\u00e9', U'\u20ac', U'\U0001f600'})
    append_utf8(text, character);
  EXPECT_EQ(text, "a\u00e9\u20ac\U0001f600");
}

TEST(Utf8, Latin1HasOneByteACharacter) {
  EXPECT_EQ(latin1_of("a\u00ff"), "a\xff");
  EXPECT_EQ(latin1_of("\u20ac"), std::nullopt);
  EXPECT_EQ(latin1_of("\xff"), std::nullopt);
}

}  // namespace
}  // namespace simmesh::checkpoint
