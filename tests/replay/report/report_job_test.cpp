#include "replay/report/report_job.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/replay/report/reported_job.h"

namespace simmesh::replay {
namespace {

using samples::dlrm_report;
using samples::find_check;
using samples::report_of;

// The figures are those of the job's recorded facts.
TEST(ReportJob, SaysWhatARealJobDid) {
  const JobReport& report = dlrm_report();
  EXPECT_EQ(report.failed(), 0u);
  EXPECT_EQ(report.passed(), report.checks.size());
  ASSERT_TRUE(report.run.has_value());
  EXPECT_EQ(report.run->communications, 64u);
  EXPECT_EQ(report.run->compared, 64u);
  EXPECT_EQ(report.run->schedules, 5);
  EXPECT_EQ(report.run->dangling_waits, 16u);
  ASSERT_TRUE(report.times.has_value());
  EXPECT_FALSE(report.times->is_simulated);
  EXPECT_EQ(report.times->skew.comm_us, 48542);
  EXPECT_EQ(report.times->skew.wait_us, 46806);
  EXPECT_EQ(report.times->skew.times_last[7], 5);
  EXPECT_EQ(report.traces[0].memory.sum_bytes, 5134384302);
  EXPECT_EQ(report.all_to_alls.size(), 5u);
  EXPECT_EQ(report.links->collectives.size(), 8u);
  EXPECT_TRUE(report.made_up.empty());
}

TEST(ReportJob, ChangesShortenTheStep) {
  const JobReport& report = dlrm_report();
  ASSERT_EQ(report.what_if.size(), 2u);
  for (const ReportedWhatIf& asked : report.what_if)
    EXPECT_LT(asked.times.after.step_us, asked.times.before.step_us) << asked.name;
}

TEST(ReportJob, MakesUpTheRankThatHasNoTrace) {
  JobReport report = report_of("resnet_2gpu_et.1.1.0.json.gz", {.replays = false});
  ASSERT_FALSE(report.made_up.empty());
  EXPECT_EQ(report.made_up.back(), "rank 0 is synthesised from rank 1");
  EXPECT_EQ(report.failed(), 0u);
  EXPECT_FALSE(report.run.has_value());
  ASSERT_TRUE(report.times.has_value());
  EXPECT_TRUE(report.times->is_simulated);
  EXPECT_EQ(report.times->timeline.ranks.size(), 2u);
}

TEST(ReportJob, ABrokenJobIsNotReplayed) {
  JobReport report = report_of("trace_bad/order_differs");
  EXPECT_EQ(report.failed(), 1u);
  EXPECT_FALSE(find_check(report, "ranks")->has_passed);
  EXPECT_EQ(find_check(report, "replay"), nullptr);
  EXPECT_FALSE(report.times.has_value());
}

TEST(ReportJob, EveryRecordedFaultFailsItsCheck) {
  const std::pair<const char*, const char*> faults[] = {
      {"truncated_json", "files"},      {"no_attrs", "nodes"},
      {"cyclic_parents_3", "nodes"},    {"negative_numel", "tensors"},
      {"split_sum", "communications"},  {"root_differs", "ranks"},
      {"send_without_recv", "messages"}};
  for (auto [name, check] : faults) {
    JobReport report = report_of(std::string("trace_bad/") + name);
    EXPECT_FALSE(find_check(report, check)->has_passed) << name;
    EXPECT_EQ(report.failed(), 1u) << name;
  }
}

TEST(ReportJob, ReplaysTheStepsThatAreAskedFor) {
  JobReportOptions options;
  options.program.steps = {1};
  JobReport one = report_of("generated/comms4", options);
  EXPECT_EQ(one.failed(), 0u);
  options.program.steps = {0, 1};
  JobReport two = report_of("generated/comms4", options);
  EXPECT_LT(one.run->communications, two.run->communications);
  options.program.steps = {7};
  EXPECT_THROW(report_of("generated/comms4", options), Error);
}

TEST(ReportJob, SchedulesSideBySideGiveTheSame) {
  JobReport alone = report_of("generated/comms4", {.schedules = 6});
  JobReport beside = report_of("generated/comms4", {.schedules = 6, .jobs = 3});
  EXPECT_EQ(alone.run->data_hash, beside.run->data_hash);
  EXPECT_EQ(alone.run->schedule_hash, beside.run->schedule_hash);
  EXPECT_TRUE(find_check(beside, "schedules")->has_passed);
}

TEST(ReportJob, TimelinesAloneAreAnalysed) {
  auto paths = samples::recorded_paths({"dlrm_kineto.tar.gz"});
  JobReport report = report_job({}, read_timelines(paths));
  EXPECT_EQ(report.failed(), 0u);
  EXPECT_EQ(report.passed(), 4u);  // they name no groups to check
  EXPECT_EQ(report.times->collectives.size(), 8u);
}

TEST(ReportJob, TimelinesOfAnotherJobFailTheirCheck) {
  auto traces = samples::recorded_paths({"generated/comms4"});
  auto timelines = samples::recorded_paths({"dlrm_kineto.tar.gz"});
  JobReport report = report_job(read_job(traces), read_timelines(timelines));
  EXPECT_FALSE(find_check(report, "timelines")->has_passed);
}

}  // namespace
}  // namespace simmesh::replay
