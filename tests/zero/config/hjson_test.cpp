#include "zero/config/hjson.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

void expect_reads(std::string_view text, std::string_view json) {
  EXPECT_EQ(parse_hjson(text).text(), JsonValue::parse(json).text()) << text;
}

// Each pair was read by the hjson package that DeepSpeed uses. If this fails, a file means
// something else here than there.
TEST(Hjson, ReadsWhatDeepSpeedReads) {
  expect_reads(R"({"a": 1, "b": [1, 2,],})", R"({"a": 1, "b": [1, 2]})");
  expect_reads("{\n # one\n a: 1 # two\n // three\n b: 2 /* four */\n}", R"({"a": 1, "b": 2})");
  expect_reads("{a: 1, b: true, c: null, d: false}",
               R"({"a": 1, "b": true, "c": null, "d": false})");
  expect_reads("a: 1\nb: {c: 2}", R"({"a": 1, "b": {"c": 2}})");
  expect_reads("{a: some text, and more } # here\n}", R"({"a": "some text, and more } # here"})");
  expect_reads("{a: tru\n b: 12 monkeys\n c: nullable\n}",
               R"({"a": "tru", "b": "12 monkeys", "c": "nullable"})");
  expect_reads("{'a': 'it \\'is\\' \"so\"', \"b\": \"\\u00e9\\n'\"}",
               "{\"a\": \"it 'is' \\\"so\\\"\", \"b\": \"\\u00e9\\n'\"}");
  expect_reads("{\n  a:\n    '''\n    one\n      two\n    '''\n}", R"({"a": "one\n  two"})");
  expect_reads("{\n a: '''one'''}", R"({"a": "one"})");
  expect_reads("{a: ''}", R"({"a": ""})");
  expect_reads("", "{}");
  expect_reads("\xef\xbb\xbf{\"a\": 1}", R"({"a": 1})");
  expect_reads("{a: 1\n b: 2}", R"({"a": 1, "b": 2})");
}

// DeepSpeed's files write buckets as 5e8 and 1.0e3, which must be integers.
TEST(Hjson, ReadsNumbersAsThePackageDoes) {
  expect_reads("{a: 1e3, b: 4.0, c: 5e8, d: 0.5, e: 1e10, f: -2E+1, g: 1e-3}",
               R"({"a": 1000, "b": 4, "c": 500000000, "d": 0.5, "e": 1e10, "f": -20, "g": 1e-3})");
  expect_reads("{a: 01\n b: 1.\n c: +1\n d: .5\n e: NaN\n}",
               R"({"a": "01", "b": "1.", "c": "+1", "d": ".5", "e": "NaN"})");
}

TEST(Hjson, RefusalsNameTheLine) {
  auto refused = [](std::string_view text, std::string_view phrase) {
    expect_error([&] { parse_hjson(text); }, ErrorKind::value_error, phrase);
  };
  refused("{\"a\": 1,\n \"a\": 2}", "expected each key once, got a twice");
  refused("{\n a 1\n}", "line 2: expected JSON or Hjson, a colon after a key");
  refused("{\n a: ,\n}", "line 2: expected JSON or Hjson, a value, got \",\\n}\"");
  refused("{\"a\": \"b\n\"}", "a text that ends with its quote");
  refused("{\"a\": \"b", "a text that ends with its quote");
  refused("{a: '''b", "three quotes");
  refused("{a: [1", "expected JSON");
  refused("{a: 1} b", "the end of the text");
  refused("{/* a", "the end of a comment");
  refused("{", "a key");
  refused(std::string(100, '['), "at most 64 levels");
}

TEST(Hjson, RefusalsOfAFileNameItToo) {
  simmesh::testing::TemporaryFolder folder;
  std::string file = folder.write("ds_config.json", "{\n a: [1\n");
  expect_error([&] { read_hjson_file(file); }, ErrorKind::value_error,
               "ds_config.json: line 3: expected JSON or Hjson, the end of a list, got the end of "
               "the text");
}

}  // namespace
}  // namespace simmesh::zero
