#include "checkpoint/torch_file/pickle_json.h"

#include <gmock/gmock.h>

#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;
using namespace std::string_literals;

JsonValue json_of_text(const std::string& text) {
  static const PickleDialect dialect = {"N\x88\x89KJG\x8cX)t\x85\x86(}]aseu\x94hjcRQ.", {"m.C"}};
  Pickle pickle(testing::bytes_of(text), dialect);
  return json_of(pickle.root());
}

std::string json_problem(const std::string& text) {
  return error_text([&] { json_of_text(text); });
}

TEST(PickleJson, TakesNumbersTextsListsAndDicts) {
  EXPECT_EQ(json_of_text("(N\x88\x89K\7G\x3f\xf8\0\0\0\0\0\0\x8c\1a]}t."s).text(),
            R"([null,true,false,7,1.5,"a",[],{}])");
  EXPECT_EQ(json_of_text("}(\x8c\1b](K\1e\x8c\1aK\2u."s).text(), R"({"b":[1],"a":2})");
}

TEST(PickleJson, RefusesOtherValues) {
  for (const char* text : {"cm\nC\n.", "cm\nC\n)R.", "NQ.", "]cm\nC\na."})
    EXPECT_THAT(json_problem(text), HasSubstr("lists and dicts, got an object")) << text;
  EXPECT_THAT(json_problem("}K\1K\2s."), HasSubstr("a key: expected a text, got an integer"));
}

TEST(PickleJson, BoundsDepthAndCycles) {
  auto nested = [](std::size_t depth) { return "N" + std::string(depth, '\x85') + "."; };
  EXPECT_EQ(json_problem(nested(64)), "");
  EXPECT_THAT(json_problem(nested(65)), HasSubstr("nested too deeply, or holds itself"));
  EXPECT_THAT(json_problem(nested(1'000'000)), HasSubstr("nested too deeply"));
  EXPECT_THAT(json_problem("]\x94h\0a."s), HasSubstr("nested too deeply, or holds itself"));
  EXPECT_THAT(json_problem("}\x94\x8c\1ah\0s."s), HasSubstr("nested too deeply, or holds itself"));
}

// Ten lists, each with the one before ten times, or one long text many times, would be huge.
TEST(PickleJson, RefusesWhatGrowsFarBeyondThePickle) {
  std::string laughs = "]\x94";
  for (char level = 0; level < 10; ++level) {
    laughs += "](";
    for (int i = 0; i < 10; ++i) laughs += {'h', level};
    laughs += "e\x94";
  }
  EXPECT_THAT(json_problem("(" + laughs + "t."), HasSubstr("much larger than its pickle"));

  std::string texts = "(X\0\0\1\0"s + std::string(1 << 16, 'a') + "\x94";
  for (int i = 0; i < 1000; ++i) texts += "h\0"s;
  EXPECT_THAT(json_problem(texts + "t."), HasSubstr("much larger than its pickle"));
}

// Dicts share their keys in Python's pickles, which must not count as a repetition.
TEST(PickleJson, TakesWhatIsSharedWithinReason) {
  std::string dicts = "](X\x0a\0\0\0weight_key\x94"s;
  for (int i = 0; i < 20000; ++i) dicts += "}h\0K\1s"s;
  JsonValue value = json_of_text(dicts + "e.");
  EXPECT_EQ(value.get<JsonValue::List>()->size(), 20001u);
}

}  // namespace
}  // namespace simmesh::checkpoint
