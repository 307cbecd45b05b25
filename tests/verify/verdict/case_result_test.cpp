#include "verify/verdict/case_result.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// If this fails, a shard of cases loses a part of its results.
TEST(CaseResult, IsReadAsItWasWritten) {
  CaseResult failed{.id = "a/ü",
                    .kind = "mesh",
                    .place = {"c.jsonl", 7},
                    .mismatches = {"x: expected 1, got 2", "y"},
                    .mismatch_count = 9,
                    .reproduce = "simmesh verify c.jsonl",
                    .schedule_hash = 0xFFFFFFFFFFFFFFFFu};
  CaseResult held{.id = "b", .kind = "plan", .cheaper = "", .is_beyond = true, .data_hash = 0};
  for (const CaseResult& one : {failed, held}) {
    JsonValue written = to_json(one);
    CaseResult again = case_result_from(JsonValue::parse(written.text()));
    EXPECT_EQ(to_json(again).text(), written.text());
    EXPECT_EQ(again.failed(), one.failed());
    EXPECT_EQ(again.mismatches, one.mismatches);
    EXPECT_EQ(again.place.line, one.place.line);
    EXPECT_EQ(again.cheaper, one.cheaper);
    EXPECT_EQ(again.data_hash, one.data_hash);
    EXPECT_EQ(again.schedule_hash, one.schedule_hash);
  }
}

TEST(CaseResult, RefusesOtherValues) {
  for (const char* text : {"3", "{}", R"({"kind":4})", R"({"kind":"a","id":1})",
                           R"({"kind":"a","data":"x"})", R"({"kind":"a","mismatches":[1]})"})
    expect_error([&] { case_result_from(JsonValue::parse(text)); }, ErrorKind::value_error,
                 "expected");
}

}  // namespace
}  // namespace simmesh
