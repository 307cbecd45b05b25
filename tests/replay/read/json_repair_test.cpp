#include "replay/read/json_repair.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

std::string repaired(std::string_view text, std::string_view counts = "") {
  JsonRepairs repairs;
  std::string json = repaired_json(text, repairs);
  EXPECT_EQ(to_string(repairs), counts) << text;
  EXPECT_EQ(repairs.sum() > 0, !counts.empty());
  return json;
}

std::string fault_of(std::string_view text) {
  JsonRepairs repairs;
  try {
    repaired_json(text, repairs);
  } catch (const JsonFault& fault) {
    return std::to_string(fault.offset) + ": " + fault.message;
  }
  return "read";
}

// Would fail if sound JSON were changed.
TEST(JsonRepair, LeavesJsonAlone) {
  for (std::string_view text :
       {R"({"a": [1, -2.5e+3, true, false, null], "b": {"c\"\\\u00e9\ud83d\ude00": "é"}})", "[]",
        "{}", "18446744073709551615", "-9223372036854775808", "\"\""}) {
    std::string json = repaired(text);
    json.erase(std::remove(json.begin(), json.end(), ' '), json.end());
    std::string expected(text);
    expected.erase(std::remove(expected.begin(), expected.end(), ' '), expected.end());
    EXPECT_EQ(json, expected);
  }
}

// Would fail if a thing that has one meaning were refused, or not counted.
TEST(JsonRepair, ReadsWhatHasOneMeaning) {
  constexpr std::string_view infinite = " that JSON can't have, such as inf and NaN";
  EXPECT_EQ(
      repaired("[inf,-inf,NaN,Infinity,nan,-Infinity,1e999]", "7 numbers" + std::string(infinite)),
      "[null,null,null,null,null,null,null]");
  EXPECT_EQ(repaired("\"gemm\xff\xfe\"", "2 characters of texts that UTF-8 doesn't have"),
            "\"gemm\\ufffd\\ufffd\"");
  EXPECT_EQ(repaired(R"("\ud800x")", "1 character of texts that UTF-8 doesn't have"),
            R"("\ufffdx")");
  EXPECT_EQ(repaired("\"a\x01\nb\"", "2 control characters without an escape"),
            R"("a\u0001\u000ab")");
  EXPECT_EQ(repaired(R"("C:\Users\gemm\u12")", "3 escapes that JSON doesn't have, such as \\U"),
            R"("C:\\Users\\gemm\\u12")");
  EXPECT_EQ(
      repaired("[18446744073709551616,-9223372036854775809]", "2 integers of more than 64 bits"),
      "[18446744073709551616e0,-9223372036854775809e0]");
  EXPECT_EQ(repaired("{\"a\":[1,],}", "2 commas with nothing after it"), "{\"a\":[1]}");
}

// Would fail if a fault had no place, or its text were raw bytes.
TEST(JsonRepair, NamesThePlaceOfAFault) {
  EXPECT_EQ(fault_of(R"({"name": "a = "gemm"", "ts": 1})"),
            R"(15: expected ',' or '}', got 'g' in '{"name": "a = "gemm"", "ts": 1}')");
  EXPECT_EQ(fault_of("[1 2]"), "3: expected ',' or ']', got '2' in '[1 2]'");
  EXPECT_EQ(fault_of("{1: 2}"), "1: expected a key, got '1' in '{1: 2}'");
  EXPECT_EQ(fault_of("[\x80]"), "1: expected a value, got '\\x80' in '[\\x80]'");
  EXPECT_EQ(fault_of("[nope]"), "1: expected a value, got 'n' in '[nope]'");
  EXPECT_EQ(fault_of("[01]"), "1: expected a number without zeros before it, got '0' in '[01]'");
  EXPECT_EQ(fault_of("[1.]"), "3: expected a digit, got ']' in '[1.]'");
  EXPECT_EQ(fault_of("[1"), "2: expected ',' or ']', got the end");
  EXPECT_EQ(fault_of("\"abc"), "4: expected the end of a text, got the end");
  EXPECT_EQ(fault_of("1 2"), "2: expected the end, got '2' in '1 2'");
  EXPECT_THAT(fault_of(std::string(2000, '[')), HasSubstr("expected at most 1000 levels"));
}

TEST(JsonRepair, ShowsBytes) {
  EXPECT_EQ(shown_bytes("a\x1f\xff'"), "a\\x1f\\xff'");
  EXPECT_EQ(text_around(std::string(100, 'a') + "b" + std::string(100, 'c'), 100),
            std::string(24, 'a') + "b" + std::string(23, 'c'));
}

}  // namespace
}  // namespace simmesh::replay
