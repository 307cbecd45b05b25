#include "core/findings/check_finding.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;
using ::testing::HasSubstr;

const std::string reported_deadlock =
    "[engine/deadlock] no rank can run, 3 of 4 have not returned\n"
    "  rank 1: waited in all_gather #1 of world [0, 1, 2, 3], float32[1], a/deadlock.cpp:15\n"
    "  rank 2: had returned\n"
    "reproduce: ./deadlock --seed 0 --schedule fifo\n";

// An editor jumps to the place, and an agent runs the command: both come from the report alone.
TEST(CheckFinding, AReportSaysRuleRankPlaceAndCommand) {
  CheckFinding finding = finding_from_report("", reported_deadlock);
  EXPECT_EQ(finding.rule, "engine/deadlock");
  EXPECT_EQ(finding.message, "[engine/deadlock] no rank can run, 3 of 4 have not returned");
  EXPECT_EQ(finding.rank, 1);
  EXPECT_EQ(finding.file, "a/deadlock.cpp");
  EXPECT_EQ(finding.line, 15);
  EXPECT_EQ(finding.reproduce, "./deadlock --seed 0 --schedule fifo");
  EXPECT_EQ(finding.details, reported_deadlock);
  EXPECT_EQ(finding_from_report("run", reported_deadlock).rule, "run");
}

TEST(CheckFinding, AMessageSaysWhatWasExpectedAndWhatCame) {
  CheckFinding finding = finding_from_report("r", "rank 3: shape: expected [2, 4], got [4, 4]");
  EXPECT_EQ(finding.expected, "[2, 4]");
  EXPECT_EQ(finding.got, "[4, 4]");
  EXPECT_EQ(finding.rank, 3);
  EXPECT_EQ(finding.details, "");
  EXPECT_EQ(finding_from_report("r", "it is wrong").expected, "");
}

// A clock, an address or a ratio would send an editor to a file that doesn't exist.
TEST(CheckFinding, WhatIsNoPlaceIsLeftAlone) {
  for (const char* text : {"12:30", "tcp://a.b:29500", "x:1", ".:3", "a.1:2", "a.cpp: 3", ":7", ""})
    EXPECT_FALSE(finding_from_report("r", text).line) << text;
  EXPECT_FALSE(finding_from_report("r", "rank of 3, ranks 4").rank);
  EXPECT_EQ(finding_from_report("", "[a b] text").rule, "");
  EXPECT_EQ(finding_from_report("", "[a").rule, "");
}

TEST(CheckFinding, JsonIsReadBackAndNamesWhatIsUnknown) {
  CheckFinding finding = finding_from_report("", reported_deadlock);
  EXPECT_EQ(to_json(check_finding_from(to_json(finding))).text(), to_json(finding).text());
  std::string bare = to_json(CheckFinding{.rule = "r", .message = "m", .file = {}}).text();
  EXPECT_THAT(bare, HasSubstr("\"rank\":null,\"file\":null,\"line\":null,\"expected\":null"));
}

TEST(CheckFinding, AValueOfAnotherFormIsRefused) {
  auto read = [](const char* text) { return check_finding_from(JsonValue::parse(text)); };
  expect_error([&] { read("{}"); }, ErrorKind::value_error,
               "expected a rule and a message, got {}");
  expect_error([&] { read(R"({"rule":3})"); }, ErrorKind::value_error, "rule: expected a text");
  expect_error([&] { read(R"({"rule":"r","message":"m","line":"x"})"); }, ErrorKind::value_error,
               "line: expected a whole number or null, got \"x\"");
}

}  // namespace
}  // namespace simmesh
