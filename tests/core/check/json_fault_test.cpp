#include "core/check/json_fault.h"

#include <gtest/gtest.h>

#include "core/check/json_value.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// If this fails, users read the names of a library's exceptions.
TEST(JsonFault, HasThePlaceAndTheFault) {
  EXPECT_EQ(json_fault("[json.exception.parse_error.101] parse error at line 1, column 4: syntax "
                       "error while parsing value - unexpected end of input"),
            "a syntax error at line 1, column 4, while parsing value - unexpected end of input");
  EXPECT_EQ(json_fault("[json.exception.out_of_range.406] number overflow parsing '1e999'"),
            "number overflow parsing '1e999'");
  EXPECT_EQ(json_fault("other words"), "other words");
  EXPECT_EQ(json_fault(""), "");
}

// If this fails, the library's newer words aren't known any more.
TEST(JsonFault, KnowsTheWordsOfTheLibrary) {
  for (const char* text : {"", "{", "{\"a\" 1}", "[1,", "nul", "\"\xff\"", "1e999", "{a:1}"}) {
    std::string error = testing::error_text([&] { JsonValue::parse(text); });
    EXPECT_NE(error.find("expected JSON, got "), error.npos) << text;
    EXPECT_EQ(error.find("exception"), error.npos) << error;
  }
}

}  // namespace
}  // namespace simmesh
