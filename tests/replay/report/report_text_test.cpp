#include "replay/report/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"
#include "tests/replay/report/reported_job.h"

namespace simmesh::replay {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportText, HasTheTablesOfAJob) {
  std::string text = to_text(samples::dlrm_report());
  for (const char* part : {"traces\n", "replayed 64 communications and 5096 operators of 8 ranks\n",
                           "timeline: recorded\n", "waiting is 96.4% of all communication\n",
                           "ProfilerStep#10", "links fitted to the timelines\n", "memory\n",
                           "changes\n", "pass oracle: 64 outputs equal"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("reproduce:")));
  EXPECT_THAT(text, EndsWith("\n14 passed, 0 failed\n"));
}

// Would fail if figures that nobody can know were printed as zeros: a rank is missing.
TEST(ReportText, SaysWhatIsUnknown) {
  JobTimeline job = testing::hand_job({{testing::comm(0, 10, 0)}, {}}, 1);
  job.ranks.resize(1);
  std::string text = to_text(report_job({}, std::move(job)));
  EXPECT_THAT(text, HasSubstr("waiting is unknown in 1 of 1 collectives"));
  EXPECT_THAT(text, HasSubstr("1 of 2"));
  EXPECT_THAT(text, HasSubstr("<=0.0"));
  EXPECT_THAT(text, Not(HasSubstr("moving  ")));  // on the critical path
  EXPECT_THAT(text, Not(HasSubstr("of all communication")));
}

TEST(ReportText, SaysWhatIsWrongAndHowToSeeItAgain) {
  JobReport report = samples::report_of("trace_bad/split_sum");
  report.reproduce = "simmesh replay x";
  std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("error split_sum: rank 0 node 4"));
  EXPECT_THAT(text, HasSubstr("FAIL communications: 1 error"));
  EXPECT_THAT(text, EndsWith("reproduce: simmesh replay x\n5 passed, 1 failed\n"));
  EXPECT_EQ(last_line(report), "5 passed, 1 failed");
}

}  // namespace
}  // namespace simmesh::replay
