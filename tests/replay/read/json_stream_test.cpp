#include "replay/read/json_stream.h"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "replay/read/bad_trace.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

// StepSource gives a text a few bytes at a time.
class StepSource : public ByteSource {
 public:
  StepSource(std::string_view text, std::size_t step)
      : ByteSource("steps"), rest_(text), step_(step) {}

 protected:
  std::size_t read_more(gsl::span<char> places) override {
    std::size_t count = std::min({places.size(), rest_.size(), step_});
    std::copy_n(rest_.data(), count, places.data());
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
  std::size_t step_;
};

std::string heard(std::string_view text, std::size_t step = 1 << 20,
                  std::size_t value_bytes_max = 1 << 28) {
  StepSource source(text, step);
  std::string calls;
  JsonVisitor visitor{
      .list = [&](std::string_view key) { calls += fmt::format("list {}\n", key); },
      .element = [&](std::string_view key,
                     JsonPiece piece) { calls += fmt::format("{}[] {}\n", key, piece.text); },
      .value = [&](std::string_view key,
                   JsonPiece piece) { calls += fmt::format("{} {}\n", key, piece.text); }};
  read_json_object(source, visitor, value_bytes_max);
  return calls;
}

std::string refusal(std::string_view text, std::size_t value_bytes_max = 1 << 28) {
  try {
    heard(text, 1 << 20, value_bytes_max);
  } catch (const BadTrace& bad) {
    return bad.rule() + ": " + std::string(bad.message());
  }
  return "read";
}

constexpr std::string_view sample =
    " {\"a\" : 12, \"b\":[ {\"x\": \"}\\\"]\"} ,[1,[2]],\"te,xt\", -3.5e1 ,null],\n"
    "\"c\": {\"d\": [1, \"\\\\\"]}, \"e\":[], \"f\": \"\\\\\" }\n ";

TEST(JsonStream, GivesTheSameWhereverTheTextIsCutIntoSteps) {
  std::string expected =
      "a 12\nlist b\nb[] {\"x\": \"}\\\"]\"}\nb[] [1,[2]]\nb[] \"te,xt\"\nb[] -3.5e1\nb[] null\n"
      "c {\"d\": [1, \"\\\\\"]}\nlist e\nf \"\\\\\"\n";
  for (std::size_t step = 1; step <= sample.size(); ++step)
    EXPECT_EQ(heard(sample, step), expected);
}

TEST(JsonStream, RefusesATextThatIsCutAnywhere) {
  std::size_t end = sample.rfind('}');
  for (std::size_t count = 0; count <= end; ++count)
    EXPECT_THAT(refusal(sample.substr(0, count)), HasSubstr("json: steps: byte")) << count;
  EXPECT_EQ(refusal(sample.substr(0, end + 1)), "read");
}

TEST(JsonStream, SaysWhereTheTextIsNoJson) {
  EXPECT_EQ(refusal("[1]"), "top_level: steps: expected an object, got text that begins with '['");
  EXPECT_EQ(refusal("{1: 2}"), "json: steps: byte 1: expected a key, got '1' in '{1: 2}'");
  EXPECT_EQ(refusal("{\"a\" 2}"), "json: steps: byte 5: expected ':', got '2' in '{\"a\" 2}'");
  EXPECT_EQ(refusal("{\"a\": }"), "json: steps: byte 6: expected a value, got '}' in '{\"a\": }'");
  EXPECT_EQ(refusal("{\"a\": [1 2]}"),
            "json: steps: byte 9: expected ']', got '2' in '{\"a\": [1 2]}'");
  EXPECT_EQ(refusal("{\"a\": 1}x"),
            "json: steps: byte 8: expected the end of the file, got more in '{\"a\": 1}x'");
  EXPECT_EQ(refusal("{\"a\": 1 \x1f"),
            "json: steps: byte 8: expected '}', got '\\x1f' in '{\"a\": 1 \\x1f'");
  EXPECT_EQ(refusal(""), "json: steps: byte 0: expected more, got the end of the file");
}

// Would fail if a quote without its escape were blamed on the end of the file, where the value that
// it opens is cut.
TEST(JsonStream, SaysWhereAQuoteIsWithoutItsEscape) {
  EXPECT_EQ(refusal(R"({"a": [{"name": "x "y", "b": 1}, {"c": 2}]})"),
            R"(json: steps: byte 20: expected ',' or '}', got 'y' in )"
            R"('{"name": "x "y", "b": 1}, {"c": 2}]}')");
}

// Would fail if a bare list were refused where it is allowed, or needed its end.
TEST(JsonStream, ReadsABareList) {
  for (std::string_view text :
       {"[1, {\"a\": 2}]", "[1, {\"a\": 2}", " [1,{\"a\": 2},", "[1, {\"a\": 2},]"}) {
    StepSource source(text, 3);
    std::string calls;
    read_json_object(source, {.element =
                                  [&](std::string_view key, JsonPiece piece) {
                                    calls += fmt::format("{} {} at {}; ", key, piece.text.size(),
                                                         piece.offset > 0);
                                  },
                              .bare_list = "events"});
    EXPECT_EQ(calls, "events 1 at true; events 8 at true; ") << text;
  }
}

TEST(JsonStream, KeepsValuesUpToABoundOnly) {
  std::string text = fmt::format("{{\"a\": [\"{}\", 1]}}", std::string(1 << 20, 'x'));
  EXPECT_EQ(refusal(text), "read");
  EXPECT_THAT(refusal(text, 1 << 19), HasSubstr("expected values of at most 524288 bytes"));
}

}  // namespace
}  // namespace simmesh::replay
