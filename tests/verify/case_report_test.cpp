#include "verify/case_report.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CaseReport, CollectsTheFirstMismatches) {
  CaseReport report;
  EXPECT_FALSE(report.failed());
  EXPECT_TRUE(report.expect_equal("same", 1, 1));
  EXPECT_FALSE(report.expect_equal("shape", Shape{2, 3}, Shape{2}));
  EXPECT_FALSE(report.expect_equal("name", "a", std::string("b")));
  for (int i = 0; i < 10; ++i) report.mismatch("more");
  EXPECT_TRUE(report.failed());
  EXPECT_EQ(report.mismatch_count(), 12);
  EXPECT_THAT(report.mismatches(), ElementsAre("shape: expected [2, 3], got [2]",
                                               "name: expected a, got b", "more", "more", "more"));
}

// A refusal holds only with the class and the phrase; anything else must not pass for it.
TEST(CaseReport, ComparesRefusals) {
  RecordedCase recorded = RecordedCase::parse(
      R"({"kind":"k","id":"i","error":{"error":"ValueError","message_contains":"too big"}})", {});
  CaseField error = recorded["error"];
  auto mismatches = [&](const std::function<void()>& call) {
    CaseReport report;
    report.expect_refusal("rank 1", error, call);
    return report.mismatches();
  };
  EXPECT_THAT(mismatches([] { raise(ErrorKind::value_error, "x", "is too big, {}", 7); }),
              IsEmpty());
  EXPECT_THAT(mismatches([] {}),
              ElementsAre("rank 1: expected a ValueError with 'too big', got no error"));
  EXPECT_THAT(mismatches([] { raise(ErrorKind::value_error, "x", "is too small"); }),
              ElementsAre(HasSubstr("got a ValueError: [x] is too small")));
  EXPECT_THAT(mismatches([] { raise(ErrorKind::key_error, "x", "is too big"); }),
              ElementsAre(HasSubstr("got a KeyError: [x] is too big")));
}

TEST(CaseReport, FoldsHashesInOrder) {
  CaseReport none, ab, ba;
  EXPECT_FALSE(none.data_hash());
  ab.fold_data(1);
  ab.fold_data(2);
  ba.fold_data(2);
  ba.fold_data(1);
  EXPECT_NE(ab.data_hash(), ba.data_hash());
  EXPECT_FALSE(ab.schedule_hash());
  ab.fold_schedule(3);
  EXPECT_TRUE(ab.schedule_hash());
}

// If this fails, an error passes for another one.
TEST(CaseReport, ExpectsAllWordsInAnyOrderAndInCapitalsOrNot) {
  RecordedCase recorded =
      RecordedCase::parse(R"({"kind":"k","id":"i","raises":{"words":["Too","big"]}})", {});
  auto mismatches = [&](std::string_view message) {
    CaseReport report;
    report.expect_words("rank 1: ", recorded["raises"], message);
    return report.mismatches();
  };
  EXPECT_THAT(mismatches("it is BIG, too"), IsEmpty());
  EXPECT_THAT(mismatches("it is too small"),
              ElementsAre("rank 1: expected 'big' in the message, got: it is too small"));
  EXPECT_THAT(mismatches(""), ElementsAre("rank 1: expected 'Too' in the message, got: ",
                                          "rank 1: expected 'big' in the message, got: "));
}

}  // namespace
}  // namespace simmesh
