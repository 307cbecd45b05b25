#include "replay/report/job_checks.h"

#include <gtest/gtest.h>

#include "replay/trace/finding_at.h"

namespace simmesh::replay {
namespace {

std::string line_of(const JobReport& report, const std::string& name) {
  for (const JobCheck& check : finding_checks(report))
    if (check.name == name) return (check.has_passed ? "pass " : "FAIL ") + check.text;
  return "no such check";
}

TEST(JobChecks, AreOneATheme) {
  EXPECT_EQ(theme_of("json"), "files");
  EXPECT_EQ(theme_of("duplicate_id"), "nodes");
  EXPECT_EQ(theme_of("numel"), "tensors");
  EXPECT_EQ(theme_of("split_sum"), "communications");
  EXPECT_EQ(theme_of("order"), "ranks");
  EXPECT_EQ(theme_of("p2p_unmatched"), "messages");
  EXPECT_EQ(theme_of("a rule that nobody listed"), "nodes");
}

TEST(JobChecks, OnlyErrorsFail) {
  JobReport report;
  EXPECT_EQ(line_of(report, "files"), "pass 0 traces were read");
  EXPECT_EQ(line_of(report, "messages"), "no such check");  // nothing passes for no trace
  report.traces.resize(1);
  EXPECT_EQ(line_of(report, "files"), "pass 1 trace was read");
  EXPECT_EQ(line_of(report, "messages"), "pass each message has its receive");
  report.findings = {error_at("numel", {}, ""), warning_at("schema", {}, ""),
                     warning_at("schema_mixed", {}, ""), note_at("dangling_wait", {}, "")};
  EXPECT_EQ(line_of(report, "tensors"), "FAIL 1 error");
  EXPECT_EQ(line_of(report, "files"), "pass 1 trace was read, 2 warnings");
  EXPECT_EQ(line_of(report, "communications"),
            "pass communications agree with their tensors, splits and groups");
}

// Would fail if timelines passed a check for which nothing was compared.
TEST(JobChecks, OfTimelinesAreThoseThatCompareSomething) {
  TimelineChecks checks{.checks = {{"timeline_order", 3}, {"timeline_overlap", 0}},
                        .findings = {error_at("timeline_order", {}, "")}};
  JobTimeline timeline;
  timeline.ranks.resize(2);
  std::vector<JobCheck> lines = timeline_checks(timeline, checks);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "2 timelines were read");
  EXPECT_EQ(lines[1].name, "timeline order");
  EXPECT_EQ(lines[1].text, "1 error");
  EXPECT_FALSE(lines[1].has_passed);
}

}  // namespace
}  // namespace simmesh::replay
