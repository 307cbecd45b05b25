#include "core/check/json_value.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

TEST(JsonValue, KeepsKeysInOrder) {
  JsonValue value = JsonValue::parse(R"({"b": [1, -2.5, null], /* why */ "a": {"c": "x"}})");
  EXPECT_EQ(value.text(), R"({"b":[1,-2.5,null],"a":{"c":"x"}})");
  EXPECT_TRUE(value.find("a")->find("c")->is_text("x"));
  EXPECT_EQ(value.find("missing"), nullptr);
  value.set("b", JsonValue(true));
  value.erase("a");
  EXPECT_EQ(value.text(), R"({"b":true})");
  EXPECT_EQ(JsonValue("a long text").text(8), "\"a lo...");
}

TEST(JsonValue, RefusesBadText) {
  EXPECT_THROW(JsonValue::parse(R"({"a": 1, "a": 2})"), Error);
  EXPECT_THROW(JsonValue::parse("{"), Error);
  EXPECT_THROW(JsonValue::parse("{} {}"), Error);
  EXPECT_THROW(JsonValue::parse(std::string(100, '[') + std::string(100, ']')), Error);
}

}  // namespace
}  // namespace simmesh
