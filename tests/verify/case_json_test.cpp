#include "verify/case_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// If this fails, a rank is compared with what another rank gave.
TEST(CaseJson, TakesTheEntryOfARankAtAnyDepth) {
  json value = json::parse(R"({"a":{"by_rank":[1,2]},"b":[{"c":{"by_rank":["x","y"]}}],"d":3})");
  EXPECT_EQ(of_rank(value, 1), json::parse(R"({"a":2,"b":[{"c":"y"}],"d":3})"));
}

TEST(CaseJson, WantsAnEntryForEachRank) {
  RecordedCase recorded = RecordedCase::parse(
      R"({"kind":"k","id":"i","ev":[{"n":{"by_rank":[1,2]}}]})", {.file = "a.jsonl"});
  EXPECT_NO_THROW(require_ranks(recorded.root(), 2));
  testing::expect_error([&] { require_ranks(recorded.root(), 3); }, ErrorKind::value_error,
                        "one entry for each of 3 ranks");
}

std::vector<std::string> differences_of(const char* expected, const char* actual) {
  CaseReport report;
  expect_same(report, "ev", json::parse(expected), json::parse(actual));
  return report.mismatches();
}

// If this fails, a verifier doesn't see what a record has too much or too little.
TEST(CaseJson, DifferencesAreFoundInBothDirections) {
  EXPECT_THAT(differences_of(R"({"a":[1,2]})", R"({"a":[1,2]})"), IsEmpty());
  EXPECT_THAT(differences_of(R"({"a":1})", R"({"a":2,"b":3})"),
              ElementsAre("ev.a: expected 1, got 2", "ev.b: expected nothing, got 3"));
  EXPECT_THAT(differences_of(R"({"a":1})", "{}"), ElementsAre("ev.a: expected 1, got null"));
  EXPECT_THAT(differences_of("[[1],[2]]", "[[1],[3]]"),
              ElementsAre("ev[1]: expected [2], got [3]"));
  EXPECT_THAT(differences_of("[[1]]", "[[1],[2]]"),
              ElementsAre("ev: expected [[1]], got [[1],[2]]"));
}

}  // namespace
}  // namespace simmesh
