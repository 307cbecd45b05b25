#include "core/findings/judged_checks.h"

#include <gmock/gmock.h>

#include "core/check/read_file.h"
#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using testing::TemporaryFolder;

std::vector<JudgedCheck> two_gates() {
  CheckFinding finding{.rule = "gate/hash",
                       .message = "hash: expected <a> & \"b\", got c",
                       .file = "my gates/g.toml",
                       .line = 7,
                       .rank = 3,
                       .expected = "<a> & \"b\"",
                       .got = "c",
                       .reproduce = "simmesh run 'my gates/g.toml'"};
  return {{"g", "run"}, {"h", "run"}, {"g", "hash", finding}};
}

std::string written(const std::string& path, gsl::span<const JudgedCheck> checks) {
  write_findings(path, checks);
  return read_file({.where = "test", .what = "findings", .path = path, .bytes_max = 1 << 20});
}

TEST(JudgedChecks, TheEndingOfTheFileIsTheFormat) {
  TemporaryFolder folder;
  std::vector<JudgedCheck> checks = two_gates();
  EXPECT_EQ(written((folder.path() / "a.jsonl").string(), checks), to_json_lines(checks));
  EXPECT_EQ(written((folder.path() / "a.sarif").string(), checks), to_sarif(checks));
  EXPECT_EQ(written((folder.path() / "a.xml").string(), checks), to_junit(checks));
  expect_error([&] { expect_findings_file((folder.path() / "a.txt").string()); },
               ErrorKind::value_error,
               "expected a file for findings that ends in .jsonl (lines of JSON), .sarif (SARIF) "
               "or .xml (JUnit), got '");
  expect_error([&] { expect_findings_file((folder.path() / "none/a.xml").string()); },
               ErrorKind::value_error, "the findings");
}

TEST(JudgedChecks, EachFindingIsALineOfJson) {
  std::string lines = to_json_lines(two_gates());
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
  JsonValue line = JsonValue::parse(lines);
  EXPECT_TRUE(line.find("rule")->is_text("gate/hash"));
  EXPECT_TRUE(line.find("expected")->is_text("<a> & \"b\""));
  EXPECT_EQ(*line.find("rank")->get<std::int64_t>(), 3);
}

// A code host shows a finding at its line, whatever the folder is called.
TEST(JudgedChecks, SarifHasPlacesAndRules) {
  std::vector<JudgedCheck> checks = two_gates();
  checks.push_back(
      {"k", "hash", CheckFinding{.rule = "gate/hash", .message = "m", .file = "/a/b"}});
  std::string log = to_sarif(checks);
  EXPECT_THAT(log, HasSubstr("\"uri\":\"my%20gates/g.toml\""));
  EXPECT_THAT(log, HasSubstr("\"startLine\":7"));
  EXPECT_THAT(log, HasSubstr("\"uri\":\"file:///a/b\""));
  EXPECT_THAT(log, HasSubstr("\"rules\":[{\"id\":\"gate/hash\"}]"));
  EXPECT_THAT(to_sarif({}), HasSubstr("\"results\":[]"));
}

// A finding keeps its name on a code host while its figures change, and two findings differ.
TEST(JudgedChecks, SarifNamesAFindingOverRuns) {
  auto print_of = [](const std::vector<JudgedCheck>& checks) {
    std::string log = to_sarif(checks);
    return log.substr(log.find("check/v1"), 28);
  };
  std::vector<JudgedCheck> one = two_gates(), other = two_gates();
  other[2].finding->line = 9;
  other[2].finding->message = "hash: expected d, got e";
  EXPECT_EQ(print_of(one), print_of(other));
  other[2].name = "same_as";
  EXPECT_NE(print_of(one), print_of(other));
}

TEST(JudgedChecks, JUnitCountsTheChecksOfEachSuite) {
  std::string xml = to_junit(two_gates());
  EXPECT_THAT(xml, HasSubstr("<testsuites name=\"simmesh\" tests=\"3\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"g\" tests=\"2\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"h\" tests=\"1\" failures=\"0\""));
  EXPECT_THAT(xml, HasSubstr("message=\"hash: expected &lt;a&gt; &amp; &quot;b&quot;, got c\""));
  EXPECT_THAT(xml, HasSubstr("at my gates/g.toml:7\nreproduce: simmesh run"));
}

// A control character in a name would make the whole file unreadable.
TEST(JudgedChecks, JUnitHasNoByteThatXmlForbids) {
  std::string xml = to_junit(std::vector<JudgedCheck>{{"a\x01", "b\xff\x1b[31m"}});
  EXPECT_THAT(xml, HasSubstr("a\\u0001"));
  for (char forbidden : {'\x01', '\x1b', '\xff'})
    EXPECT_THAT(xml, Not(HasSubstr(std::string(1, forbidden))));
}

TEST(JudgedChecks, AreReadFromJson) {
  auto checks = judged_checks_from(R"([{"suite":"s","name":"a"},{"suite":"s","name":"b",)"
                                   R"("finding":{"rule":"r","message":"m"}}])");
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_FALSE(checks[0].finding);
  EXPECT_EQ(checks[1].finding->message, "m");
  for (const char* text : {"{}", "[3]", R"([{"suite":"s"}])"})
    expect_error([&] { judged_checks_from(text); }, ErrorKind::value_error, "expected a");
}

}  // namespace
}  // namespace simmesh
