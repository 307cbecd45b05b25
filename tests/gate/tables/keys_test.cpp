#include "gate/tables/keys.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;

void expect_rejected(const std::string& text, const std::function<void(GateTable&)>& read,
                     const std::string& message) {
  toml::table parsed = parse_toml(text, "f.toml");
  GateTable table(parsed, "f.toml", "t");
  expect_error([&] { read(table); }, ErrorKind::value_error, message);
}

TEST(GateKeys, ReadsWhatIsThereAndDefaults) {
  toml::table parsed = parse_toml(
      "i = 3\nx = 2\nb = true\ns = \"a\"\nl = [\"a\", \"b\"]\nn = [1, 2.5]\nd = [4, "
      "5]\n[t]\n[[u]]\n[[u]]",
      "f.toml");
  GateTable table(parsed, "f.toml");
  EXPECT_EQ(table.integer("i", 0, {0, 9}), 3);
  EXPECT_EQ(table.integer("absent", 7, {0, 9}), 7);
  EXPECT_EQ(table.number("x", 0, {0, 9}), 2.0);
  EXPECT_TRUE(table.boolean("b", false));
  EXPECT_EQ(table.word("s", "b", {"a", "b"}), "a");
  EXPECT_THAT(table.texts("l"), ElementsAre("a", "b"));
  EXPECT_THAT(table.numbers("n"), ElementsAre(1, 2.5));
  EXPECT_THAT(table.sizes("d", {}, {1, 9}), ElementsAre(4, 5));
  EXPECT_EQ(table.tables("t").size(), 1u);
  EXPECT_EQ(table.tables("u").size(), 2u);
  EXPECT_FALSE(table.table("v"));
  table.finish();
}

// Each message names the file, the line, the key, what was expected and what the file has, on one
// short line.
TEST(GateKeys, SaysWhatIsWrongAndWhere) {
  expect_rejected(
      "\ni = \"x\"",
      [](GateTable& t) {
        t.integer("i", 0, {0, 9});
      },
      "[f.toml:2:5] key 't.i': expected an integer from 0 to 9, got \"x\"");
  expect_rejected(
      "i = 10",
      [](GateTable& t) {
        t.integer("i", 0, {0, 9});
      },
      "got 10");
  expect_rejected(
      "i = 1.0",
      [](GateTable& t) {
        t.integer("i", 0, {0, 9});
      },
      "got 1");
  expect_rejected(
      "x = inf",
      [](GateTable& t) {
        t.number("x", 0, {0, 9});
      },
      "got inf");
  expect_rejected(
      "b = 1", [](GateTable& t) { t.boolean("b", false); }, "true or false, got 1");
  expect_rejected(
      "l = [1]", [](GateTable& t) { t.texts("l"); }, "got a list with 1");
  expect_rejected(
      "n = [nan]", [](GateTable& t) { t.numbers("n"); }, "finite");
  expect_rejected(
      "d = [0]",
      [](GateTable& t) {
        t.sizes("d", {}, {1, 9});
      },
      "from 1 to 9");
  expect_rejected(
      "t = 1979-05-27", [](GateTable& t) { t.table("t"); }, "got a date or time");
  expect_rejected(
      "u = [1]", [](GateTable& t) { t.tables("u"); }, "a list of tables");
  expect_rejected(
      "fsdp = {}", [](GateTable& t) { t.refuse("fsdp", "more"); }, "the key 't.fsdp' needs more");
  expect_rejected(
      "s = \"a\\nb\\u0000\"", [](GateTable& t) { t.boolean("s", true); }, "\"a?b?\"");
}

// The message names the first unknown key in the file, not the first in alphabetical order.
TEST(GateKeys, FinishNamesTheFirstUnknownKey) {
  auto read = [](GateTable& table) {
    table.integer("width", 0, {0, 9});
    table.integer("layers", 0, {0, 9});
    table.finish();
  };
  expect_rejected("width = 1\nwidths = 2\nlayer = 3", read,
                  "[f.toml:2:1] expected a known key, got 't.widths'; the nearest known key is "
                  "'t.width'");
}

TEST(GateKeys, NearestIsByEdits) {
  EXPECT_EQ(nearest("layer", {"width", "layers", "heads"}), "layers");
  EXPECT_EQ(nearest("hdeas", {"width", "layers", "heads"}), "heads");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(GateKeys, TextThatIsNoTomlNamesItsLine) {
  expect_error([] { parse_toml("a = 1\nb = \n", "f.toml"); }, ErrorKind::value_error,
               "[f.toml:2:5] expected TOML");
}

}  // namespace
}  // namespace simmesh
