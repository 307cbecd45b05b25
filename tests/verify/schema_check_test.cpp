#include "verify/schema_check.h"

#include <gmock/gmock.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

using namespace schema;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Checks the field "v" of a case; returns the unknown parts, or the refusal.
std::vector<std::string> check(const Schema& schema, const std::string& value) {
  RecordedCase recorded = RecordedCase::parse(R"({"kind":"k","id":"i","v":)" + value + "}",
                                              {.file = "f.jsonl", .line = 3});
  CaseReport report;
  try {
    bool holds = check_schema(recorded["v"], schema, report);
    EXPECT_NE(holds, report.failed());
  } catch (const BadCase& error) {
    return {std::string("refused: ") + error.what()};
  }
  return report.mismatches();
}

void expect_holds(const Schema& schema, std::initializer_list<const char*> values) {
  for (const char* value : values) EXPECT_THAT(check(schema, value), IsEmpty()) << value;
}

void expect_refused(const Schema& schema, std::initializer_list<const char*> values,
                    const std::string& expected) {
  for (const char* value : values)
    EXPECT_THAT(check(schema, value),
                ElementsAre(HasSubstr("refused: [f.jsonl:3] field 'v': expected " + expected)))
        << value;
}

// A value of another type, or out of bounds, can't be valid at all.
TEST(SchemaCheck, RefusesValuesOfAnotherType) {
  expect_holds(flag(), {"true", "false"});
  expect_refused(flag(), {"1", "null", "\"true\""}, "true or false");
  expect_holds(yes(), {"true"});
  expect_refused(yes(), {"false"}, "true");
  expect_holds(integer({.min = -1, .max = 2}), {"-1", "2"});
  expect_refused(integer({.min = -1, .max = 2}), {"-2", "3"}, "an integer in -1 .. 2");
  expect_refused(integer(), {"1.0", "9223372036854775808", "\"1\""}, "an integer below 2^63");
  expect_holds(seed(), {"0", "18446744073709551615"});
  expect_refused(seed(), {"-1", "0.5"}, "an integer in 0 .. 2^64-1");
  expect_holds(number(), {"1", "-0.5"});
  expect_refused(number(), {"\"inf\"", "null"}, "a number");
  expect_refused(number_in(0.0, 1.0), {"-1e-9", "1.5"}, "a number in 0 .. 1");
  expect_holds(figure(), {"1", "\"inf\"", "\"-inf\"", "\"nan\""});
  expect_refused(figure(), {"\"Infinity\"", "\"\""}, "a number, inf, -inf or nan");
  expect_holds(text(), {"\"a\""});
  expect_refused(text(), {"\"\""}, "a text of at least one byte");
  expect_holds(any_text(), {"\"\""});
  expect_holds(hash(), {"\"0123456789abcdef\""});
  expect_refused(hash(), {"\"0123456789abcdeF\"", "\"0\""}, "16 hex digits");
  expect_refused(null(), {"0"}, "null");
}

TEST(SchemaCheck, RefusesTextsThatDoNotParse) {
  Schema even = spelled("an even length", [](const std::string& text) {
    if (text.empty()) raise(ErrorKind::value_error, "test", "expected letters, got none");
    return text.size() % 2 == 0;
  });
  expect_holds(even, {"\"ab\""});
  expect_refused(even, {"\"abc\"", "\"\""}, "an even length");
}

TEST(SchemaCheck, LooksIntoLists) {
  Schema numbers = list(integer(), {.min = 1, .max = 2});
  expect_holds(numbers, {"[1]", "[1,2]"});
  expect_refused(numbers, {"[]", "[1,2,3]"}, "a list of 1 .. 2 entries");
  expect_refused(numbers, {"{}"}, "a list");
  EXPECT_THAT(check(numbers, "[1,null]"),
              ElementsAre(HasSubstr("field 'v.1': expected an integer")));
  Schema pair = tuple({text(), integer()});
  expect_holds(pair, {R"(["a",1])"});
  expect_refused(pair, {R"(["a"])", R"(["a",1,2])"}, "[a text; an integer]");
  EXPECT_THAT(check(pair, R"([1,1])"), ElementsAre(HasSubstr("field 'v.0': expected a string")));
}

TEST(SchemaCheck, TheFirstEntryOfATupleMayChooseTheOthers) {
  Schema event = tuple_by({{"begin", {integer()}}, {"end", {integer(), text()}, 1}, {"stop", {}}});
  expect_holds(event, {R"(["begin",1])", R"(["end",1])", R"(["end",1,"a"])", R"(["stop"])"});
  expect_refused(event, {R"(["begin"])", R"(["begin",1,2])"}, "[begin; an integer]");
  expect_refused(event, {R"(["end"])", R"(["end",1,"a",2])"}, "[end; an integer; a text]");
  expect_refused(event, {"[]", "[1]"}, "a list that begins with begin, end or stop");
  EXPECT_THAT(check(event, R"(["go",1])"), ElementsAre(HasSubstr("'go' is not known")));
}

// Well-formed values without a meaning are named, at every depth, and the case is still counted.
TEST(SchemaCheck, NamesWhatIsNotKnown) {
  Schema inner = object({required("a", flag()), optional("b", word({"x", "y", "z"}))});
  Schema outer = object({required("in", list(inner))});
  expect_holds(outer, {R"({"in":[]})", R"({"in":[{"a":true},{"a":true,"b":"y"}]})"});
  EXPECT_THAT(check(outer, R"({"in":[{"a":true,"c":1,"d":[]}],"e":null})"),
              ElementsAre("the field 'v.in.0.c' is not known", "the field 'v.in.0.d' is not known",
                          "the field 'v.e' is not known"));
  EXPECT_THAT(check(outer, R"({"in":[{"a":true,"b":"w"}]})"),
              ElementsAre("field 'v.in.0.b': 'w' is not known, expected x, y or z"));
  expect_refused(outer, {"{}"}, "a field 'in'");
  expect_refused(outer, {"[]"}, "an object");
  EXPECT_THAT(check(outer, R"({"in":[{"b":"x"}]})"),
              ElementsAre(HasSubstr("field 'v.in.0': expected a field 'a'")));
}

TEST(SchemaCheck, WantsOneOfTwoFields) {
  Schema schema =
      object({expected("result", flag()).unless("error"), expected("error", text()).or_absent()});
  expect_holds(schema, {R"({"result":true})", R"({"error":"x"})"});
  expect_refused(schema, {"{}"}, "a field 'result' or 'error'");
  expect_refused(schema, {R"({"result":true,"error":"x"})"}, "either result or error");
}

TEST(SchemaCheck, FollowsTheWordThatChooses) {
  Schema schema = object_by("op", {{"sum", {required("of", integer())}}, {"none", {}}},
                            {optional("why", text())});
  expect_holds(schema, {R"({"op":"sum","of":1})", R"({"op":"none","why":"x"})"});
  EXPECT_THAT(check(schema, R"({"op":"none","of":1})"),
              ElementsAre("the field 'v.of' is not known"));
  EXPECT_THAT(check(schema, R"({"op":"product","of":1})"),
              ElementsAre("field 'v.op': 'product' is not known, expected sum or none"));
  expect_refused(schema, {R"({"op":"sum"})"}, "a field 'of'");
  expect_refused(schema, {R"({"of":1})"}, "a field 'op'");
}

TEST(SchemaCheck, FollowsTheFieldThatChooses) {
  Schema schema = object_of({{"cut", {required("cut", integer())}},
                             {"ask", {required("ask", text()), optional("args", list(text()))}}});
  expect_holds(schema, {R"({"cut":1})", R"({"ask":"x","args":[]})"});
  EXPECT_THAT(check(schema, R"({"cut":1,"args":[]})"),
              ElementsAre("the field 'v.args' is not known"));
  EXPECT_THAT(check(schema, R"({"glue":1})"), ElementsAre("the field 'v.glue' is not known"));
  expect_refused(schema, {"{}", R"({"cut":1,"ask":"x"})"}, "an object with just one of cut or ask");
}

TEST(SchemaCheck, TakesTheSchemaThatHasTheType) {
  Schema by_rank = object({required("by_rank", list(integer()))});
  Schema schema = either({null(), by_rank, object({required("x", flag())}), integer()});
  expect_holds(schema, {"null", R"({"by_rank":[1]})", R"({"x":true})", "5"});
  EXPECT_THAT(check(schema, R"({"x":true,"y":1})"), ElementsAre("the field 'v.y' is not known"));
  expect_refused(schema, {"true", "{}"}, "null, an object with 'by_rank', an object with 'x' or");
}

TEST(SchemaCheck, LooksIntoObjectsOfAnyNames) {
  Schema sizes = map(integer({.min = 0}));
  expect_holds(sizes, {"{}", R"({"a":1,"a.b":2})"});
  EXPECT_THAT(check(sizes, R"({"a":-1})"),
              ElementsAre(HasSubstr("field 'v.a': expected an integer in")));
}

}  // namespace
}  // namespace simmesh
