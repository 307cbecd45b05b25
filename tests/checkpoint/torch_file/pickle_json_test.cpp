#include "checkpoint/torch_file/pickle_json.h"

#include <gmock/gmock.h>
#include <sstream>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/store/directory_store.h"
#include "tests/checkpoint/file_bytes.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::string_literals;

JsonValue json_of_text(const std::string& text) {
  Pickle pickle(testing::bytes_of(text));
  return json_of(pickle.root());
}

TEST(PickleJson, TakesNumbersTextsListsAndDicts) {
  EXPECT_EQ(json_of_text("(N\x88\x89K\7G\x3f\xf8\0\0\0\0\0\0\x8c\1a]}t."s).text(),
            R"([null,true,false,7,1.5,"a",[],{}])");
  EXPECT_EQ(json_of_text("}(\x8c\1b](K\1e\x8c\1aK\2u."s).text(), R"({"b":[1],"a":2})");
}

// Pickles of random values in every protocol, which record_pickles.py wrote with what they mean.
TEST(PickleJson, TakesWhatPythonWrites) {
  DirectoryStore store(SIMMESH_SOURCE_DIR "/tests/checkpoint/torch_file");
  std::istringstream lines(read_text(store, "pickles.jsonl", 16 << 20));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    JsonValue recorded = JsonValue::parse(line);
    std::string bytes = bytes_of_hexadecimal(*recorded.find("pickle")->get<std::string>());
    EXPECT_EQ(json_of_text(bytes).text(), recorded.find("json")->text()) << line.substr(0, 500);
  }
  EXPECT_GT(count, 500);
}

TEST(PickleJson, KeepsTheNamesOfOtherClasses) {
  EXPECT_EQ(json_of_text("cm\nC\n.").text(), R"({"$opaque":"m.C"})");
  EXPECT_EQ(json_of_text("(cm\nC\n)RK\1t.").text(), R"([{"$opaque":"m.C"},1])");
  EXPECT_EQ(json_of_text("cm\nC\n)R)R.").text(), R"({"$opaque":"m.C"})") << "a call of an object";
  EXPECT_EQ(json_of_text("NQ.").text(), R"({"$opaque":"a persistent id"})");
}

// A dict may have a key twice; JSON may not.
TEST(PickleJson, TakesTheLastOfEqualKeys) {
  EXPECT_EQ(json_of_text("}(\x8c\1aK\1\x8c\1aK\2u.").text(), R"({"a":2})");
  EXPECT_EQ(json_of_text("}(\x8c\1aK\1K\3K\2u.").text(), R"({"$dict":[["a",1],[3,2]]})");
}

TEST(PickleJson, BoundsDepthAndCycles) {
  auto nested = [](std::size_t depth) { return "N" + std::string(depth, '\x85') + "."; };
  auto text = [](const std::string& pickle) { return json_of_text(pickle).text(); };
  EXPECT_THAT(text(nested(64)), Not(HasSubstr("nested too deeply")));
  EXPECT_THAT(text(nested(65)), HasSubstr("a value that is nested too deeply"));
  EXPECT_THAT(text(nested(1'000'000)), HasSubstr("nested too deeply"));
  EXPECT_THAT(text("]\x94h\0a."s), HasSubstr("nested too deeply"));
  EXPECT_THAT(text("}\x94\x8c\1ah\0s."s), HasSubstr("nested too deeply"));
}

// Ten lists, each with the one before ten times, or one long text many times, would be huge.
TEST(PickleJson, RefusesWhatGrowsFarBeyondThePickle) {
  constexpr const char* too_large = R"({"$opaque":"a value that is much larger than its pickle"})";
  std::string laughs = "]\x94";
  for (char level = 0; level < 10; ++level) {
    laughs += "](";
    for (int i = 0; i < 10; ++i) laughs += {'h', level};
    laughs += "e\x94";
  }
  EXPECT_EQ(json_of_text("(" + laughs + "t.").text(), too_large);

  std::string texts = "(X\0\0\1\0"s + std::string(1 << 16, 'a') + "\x94";
  for (int i = 0; i < 1000; ++i) texts += "h\0"s;
  EXPECT_EQ(json_of_text(texts + "t.").text(), too_large);
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
