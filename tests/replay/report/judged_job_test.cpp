#include "replay/report/judged_job.h"

#include <gmock/gmock.h>

#include "tests/replay/report/reported_job.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

// A broken trace is a finding with its rank, and so is the check that it makes fail.
TEST(JudgedJob, ErrorsInTracesAreFindings) {
  auto checks = judged_checks(samples::report_of("trace_bad/split_sum"));
  std::size_t failed_checks = 0, of_traces = 0;
  for (const JudgedCheck& check : checks) {
    if (!check.finding) continue;
    ++failed_checks;
    if (check.finding->rule != "replay/split_sum") continue;
    ++of_traces;
    EXPECT_TRUE(check.finding->rank);
    EXPECT_THAT(check.finding->message, HasSubstr("split_sum"));
  }
  EXPECT_GE(of_traces, 1u);
  EXPECT_GT(failed_checks, of_traces);
}

TEST(JudgedJob, AGoodJobHasNoFinding) {
  for (const JudgedCheck& check : judged_checks(samples::dlrm_report()))
    EXPECT_FALSE(check.finding) << check.name;
}

}  // namespace
}  // namespace simmesh::replay
