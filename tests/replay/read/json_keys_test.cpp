#include "replay/read/json_keys.h"

#include <gtest/gtest.h>
#include <string>

namespace simmesh::replay {
namespace {

std::string keys_of(std::string_view text) {
  JsonKeys found = json_keys(text);
  std::string words = found.is_list ? "list " : "";
  for (const JsonKey& key : found.keys) words += std::string(key.name) + key.value + ' ';
  switch (found.end) {
    case JsonKeys::End::whole: return words + "whole";
    case JsonKeys::End::cut: return words + "cut";
    case JsonKeys::End::not_json: return words + "not JSON";
  }
  return words;
}

// Would fail if a key in an inner object or in a text counted, or the kind of a value were wrong.
TEST(JsonKeys, AreThoseAtTheTopLevel) {
  EXPECT_EQ(keys_of(R"( {"a": [{"b": 1}], "c\"": "\"d\": 2", "e": {"f": 3}, "g": -1})"),
            "a[ c\\\"\" e{ g- whole");
  EXPECT_EQ(keys_of(R"([{"ph": "X"}, {"other": 1}])"), "list ph\" whole");
  EXPECT_EQ(keys_of("{}"), "whole");
  EXPECT_EQ(keys_of("[]"), "list whole");
}

// Would fail if the beginning of a file counted as a whole one.
TEST(JsonKeys, KnowWhetherTheTextEndsEarly) {
  constexpr std::string_view whole = R"({"a": [1, {"x": 2}], "b": "text", "c": true})";
  for (std::size_t count = 1; count < whole.size(); ++count)
    EXPECT_EQ(json_keys(whole.substr(0, count)).end, JsonKeys::End::cut) << count;
  EXPECT_EQ(json_keys(whole).end, JsonKeys::End::whole);
  EXPECT_EQ(keys_of("text"), "not JSON");
  EXPECT_EQ(keys_of("{\"a\": 1; \"b\": 2}"), "a1 not JSON");
  EXPECT_EQ(keys_of("{a: 1}"), "not JSON");
  EXPECT_EQ(keys_of(""), "not JSON");
}

}  // namespace
}  // namespace simmesh::replay
