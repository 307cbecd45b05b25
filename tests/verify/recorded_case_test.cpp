#include "verify/recorded_case.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

RecordedCase make(const std::string& fields) {
  return RecordedCase::parse(R"({"kind":"k","id":"i",)" + fields + "}",
                             {.file = "f.jsonl", .line = 3});
}

template <class F>
void expect_bad(F&& read, const std::string& text) {
  expect_error<BadCase>(read, ErrorKind::value_error, text);
}

TEST(RecordedCase, ReadsFields) {
  RecordedCase recorded = make(R"("t":"x","b":true,"n":1.5,"m":-3,"u":18446744073709551615,)"
                               R"("l":[1,2],"s":["a"],"o":{"p":[{"q":7}]},"z":null)");
  EXPECT_EQ(recorded.kind(), "k");
  EXPECT_EQ(recorded.id(), "i");
  EXPECT_EQ(to_string(recorded.place()), "f.jsonl:3");
  EXPECT_EQ(recorded["t"].text(), "x");
  EXPECT_TRUE(recorded["b"].boolean());
  EXPECT_EQ(recorded["n"].number(), 1.5);
  EXPECT_EQ(recorded["m"].integer(), -3);
  EXPECT_EQ(recorded["m"].integer({.min = -3, .max = 3}), -3);
  EXPECT_EQ(recorded["u"].unsigned64(), 18446744073709551615u);
  EXPECT_EQ(recorded["l"].dims(), (Dims{1, 2}));
  EXPECT_EQ(recorded["l"].shape(), (Shape{1, 2}));
  EXPECT_THAT(recorded["l"].integers(), ElementsAre(1, 2));
  EXPECT_THAT(recorded["s"].texts(), ElementsAre("a"));
  EXPECT_EQ(recorded["o"]["p"].items()[0]["q"].integer(), 7);
  EXPECT_EQ(recorded["o"]["p"].items()[0]["q"].path(), "o.p.0.q");
  EXPECT_THAT(recorded["o"].keys(), ElementsAre("p"));
  EXPECT_TRUE(recorded["z"].is_null() && recorded["t"].is_text() && recorded["l"].is_list());
  EXPECT_TRUE(recorded["o"].is_object() && recorded["m"].is_integer());
  EXPECT_TRUE(recorded.has("z"));
  EXPECT_FALSE(recorded.find("y"));
  EXPECT_EQ(recorded["o"].size(), 1u);
  EXPECT_EQ(recorded["l"].size(), 2u);
  EXPECT_EQ(recorded.root().path(), "");
  EXPECT_TRUE(recorded["b"].is_boolean() && recorded["n"].is_number());
}

// A wrong field must be named with file, line, the expected value and the given one; never a crash,
// never a guess.
TEST(RecordedCase, NamesWrongFields) {
  RecordedCase recorded = make(
      R"("o":{"p":["x",null,-1,2.5,9223372036854775808]},"big":[4294967296,4294967296],"m":[-1])");
  CaseField p = recorded["o"]["p"];
  auto item = [&](std::size_t index) { return p.items()[index]; };
  expect_bad([&] { recorded["gone"]; }, "[f.jsonl:3] the case: expected a field 'gone', got {");
  expect_bad([&] { recorded["o"]["gone"]; }, "field 'o': expected a field 'gone'");
  expect_bad([&] { item(0).integer(); },
             "field 'o.p.0': expected an integer below 2^63, got \"x\"");
  expect_bad([&] { item(1).text(); }, "field 'o.p.1': expected a string, got null");
  expect_bad([&] { item(2).unsigned64(); }, "expected an integer in 0 .. 2^64-1, got -1");
  expect_bad([&] { item(3).integer(); }, "got 2.5");
  expect_bad([&] { item(4).integer(); }, "got 9223372036854775808");
  expect_bad([&] { item(2).integer({.min = 0, .max = 9}); },
             "expected an integer in 0 .. 9, got -1");
  expect_bad([&] { item(0)["q"]; }, "expected an object");
  expect_bad([&] { item(0).items(); }, "expected a list");
  expect_bad([&] { item(0).number(); }, "expected a number");
  expect_bad([&] { item(0).boolean(); }, "expected true or false");
  expect_bad([&] { p.keys(); }, "expected an object");
  expect_bad([&] { p.items(4); }, "expected a list of at most 4 entries");
  expect_bad([&] { p.texts(); }, "field 'o.p.1': expected a string");
  expect_bad([&] { recorded["big"].shape(); }, "multiply to fewer than 2^63");
  expect_bad([&] { recorded["m"].shape(); }, "sizes of at least 0");
}

// Errors in changed contents name the place of the case that they were made of.
TEST(RecordedCase, TakesOtherContents) {
  RecordedCase recorded = make(R"("b":1,"a":2)");
  nlohmann::json value = recorded.root().value();
  value["a"] = {{"y", 1}, {"x", "text"}};
  RecordedCase changed = recorded.with_value(value);
  EXPECT_THAT(changed.keys_in_order("a"), ElementsAre("x", "y"));
  EXPECT_EQ(recorded["a"].integer(), 2);
  expect_bad([&] { changed["a"]["x"].integer(); }, "[f.jsonl:3] field 'a.x': expected an integer");
  value.erase("id");
  expect_bad([&] { recorded.with_value(value); }, "[f.jsonl:3] the case: expected a field 'id'");
}

TEST(RecordedCase, RefusesWhatIsNoCase) {
  auto parse = [](const std::string& text) {
    return [=] { RecordedCase::parse(text, {.file = "f.json", .line = 1}); };
  };
  expect_bad(parse("{\n\"kind\":\n"),
             "[f.json:3] expected a case as one JSON object, got text that ends");
  expect_bad(parse("{\n\"kind\":x}"),
             "[f.json:2] expected a case as one JSON object, got something");
  expect_bad(parse("[]"), "[f.json:1] the case: expected an object, got []");
  expect_bad(parse(R"({"kind":"k"})"), "expected a field 'id'");
  expect_bad(parse(R"({"kind":"k","id":"a\nb"})"),
             "field 'id': expected a string of one or more printable");
}

}  // namespace
}  // namespace simmesh
