#include "checkpoint/catalog/tagged_value.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::ElementsAre;

TEST(TaggedValue, HasItsTagAsItsOnlyKey) {
  JsonValue bytes = tagged("$bytes", "61");
  EXPECT_EQ(bytes.text(), R"({"$bytes":"61"})");
  EXPECT_EQ(tag_of(bytes), "$bytes");
  for (const char* text : {R"({"a":1})", R"({"$$a":1})", R"({"$a":1,"b":2})", "{}", "[1]", "null"})
    EXPECT_EQ(tag_of(JsonValue::parse(text)), "") << text;
}

TEST(TaggedValue, HexadecimalDigitsLeadBackToTheirBytes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += char(byte);
  EXPECT_EQ(bytes_of_hexadecimal(hexadecimal_text(all)), all);
  for (const char* text : {"0", "0g", "0A", " 0"})
    simmesh::testing::expect_error([&] { bytes_of_hexadecimal(text); }, ErrorKind::value_error,
                                   "expected pairs of hexadecimal digits");
}

// A conversion must write everything but what isn't read, and name that.
TEST(TaggedValue, RemovesMarksOfWhatIsNotRead) {
  JsonValue value = JsonValue::parse(
      R"({"a":1,"b":{"$opaque":"m.B"},"c":[2,{"$opaque":"m.C"},{"d":{"$opaque":"m.D"}}]})");
  EXPECT_THAT(remove_opaque(value), ElementsAre("m.B", "m.C", "m.D"));
  EXPECT_EQ(value.text(), R"({"a":1,"c":[2,null,{}]})");
  JsonValue whole = opaque_value("m.A");
  EXPECT_THAT(remove_opaque(whole), ElementsAre("m.A"));
  EXPECT_TRUE(whole.is_null());
  JsonValue plain = JsonValue::parse(R"({"$$opaque":"text"})");
  EXPECT_TRUE(remove_opaque(plain).empty());
}

}  // namespace
}  // namespace simmesh::checkpoint
