#include "verify/pipeline/case_raises.h"

#include <gmock/gmock.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

std::vector<std::string> mismatches_of(const std::string& raises,
                                       const std::function<void()>& call) {
  RecordedCase recorded =
      RecordedCase::parse(R"({"kind":"k","id":"a","raises":)" + raises + "}", {.file = "a"});
  CaseReport report;
  expect_raises(report, "it", recorded["raises"], call);
  return report.mismatches();
}

void fail() { raise(ErrorKind::value_error, "test", "Expected a Stage below {}", 7); }

// If this fails, an error with another class or other words passes, or one with the right words
// fails.
TEST(CaseRaises, ComparesClassAndWords) {
  using ::testing::ElementsAre;
  using ::testing::HasSubstr;
  using ::testing::IsEmpty;
  EXPECT_THAT(mismatches_of(R"({"type":"ValueError","words":["stage","7"]})", fail), IsEmpty());
  EXPECT_THAT(mismatches_of(R"({"type":"RuntimeError","words":[]})", fail),
              ElementsAre(HasSubstr("it: expected RuntimeError, got ValueError")));
  EXPECT_THAT(mismatches_of(R"({"type":"ValueError","words":["8"]})", fail),
              ElementsAre(HasSubstr("expected '8' in the message")));
  EXPECT_THAT(mismatches_of(R"({"type":"ValueError","words":[]})", [] {}),
              ElementsAre("it: expected ValueError, got no error"));
}

// If this fails, an accident of the recorded system must be repeated word for word.
TEST(CaseRaises, TakesAnyErrorForAnAccident) {
  for (const char* accident :
       {R"({"type":"KeyError","words":["9"]})", R"({"type":"IndexError","words":[]})",
        R"({"type":"TypeError","words":[]})"}) {
    EXPECT_TRUE(mismatches_of(accident, fail).empty());
    EXPECT_FALSE(mismatches_of(accident, [] {}).empty());
  }
  EXPECT_FALSE(mismatches_of(R"({"type":"TypeError","words":["x"]})", fail).empty());
}

}  // namespace
}  // namespace simmesh
