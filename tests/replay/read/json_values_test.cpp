#include "replay/read/json_values.h"

#include <gtest/gtest.h>
#include <string>

namespace simmesh::replay {
namespace {

using Kind = JsonValues::Kind;

// A document of which JsonValues keeps the list under "v".
struct Kept {
  explicit Kept(const std::string& value) : text("{\"v\": " + value + "}") {
    auto document = parser.iterate(text);
    root = json.add(document["v"].value());
  }

  simdjson::padded_string text;
  simdjson::ondemand::parser parser;
  JsonValues json;
  JsonValues::Index root = 0;
};

TEST(JsonValues, KeepsEveryKindInOrder) {
  Kept kept(R"([1, -2, 2.5, "a\"b", [true, []], null, {"x": 1}, 7])");
  JsonValues& json = kept.json;
  EXPECT_EQ(json.size(kept.root), 8u);
  auto at = json.first(kept.root);
  auto next = [&] { return std::exchange(at, json.next(at)); };
  EXPECT_EQ(json[next()].integer, 1);
  EXPECT_EQ(json[next()].integer, -2);
  EXPECT_TRUE(json.is(next(), Kind::real));
  EXPECT_EQ(json[next()].text, "a\"b");
  auto list = next();
  EXPECT_EQ(json.size(list), 2u);
  EXPECT_TRUE(json.is(json.first(list), Kind::boolean));
  EXPECT_EQ(json.size(json.next(json.first(list))), 0u);
  EXPECT_TRUE(json.is(next(), Kind::null));
  EXPECT_TRUE(json.is(next(), Kind::object));
  EXPECT_EQ(json[next()].integer, 7);
  EXPECT_EQ(at, json.end(kept.root));
}

TEST(JsonValues, TellsListsOfIntegers) {
  std::vector<std::int64_t> numbers = {9};
  Kept good("[1, 2, 3]");
  EXPECT_TRUE(good.json.integers(good.root, numbers));
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{9, 1, 2, 3}));
  Kept mixed("[1, 2, true]");
  EXPECT_FALSE(mixed.json.integers(mixed.root, numbers));
  EXPECT_EQ(numbers.size(), 4u);
  Kept scalar("5");
  EXPECT_FALSE(scalar.json.integers(scalar.root, numbers));
  // 2^63 is no integer here, and an integer that fits is.
  Kept large("[9223372036854775808]");
  EXPECT_FALSE(large.json.integers(large.root, numbers));
  Kept largest("[9223372036854775807]");
  EXPECT_TRUE(largest.json.integers(largest.root, numbers));
}

TEST(JsonValues, RefusesWhatIsNoJsonOrTooDeep) {
  for (const char* text : {"[1, tru]", "[01]", "[1 2]", "[nul]"})
    EXPECT_THROW(Kept{text}, simdjson::simdjson_error) << text;
  std::size_t depth = JsonValues::depth_max;
  EXPECT_NO_THROW(Kept(std::string(depth, '[') + std::string(depth, ']')));
  EXPECT_THROW(Kept(std::string(depth + 2, '[') + std::string(depth + 2, ']')),
               simdjson::simdjson_error);
}

}  // namespace
}  // namespace simmesh::replay
