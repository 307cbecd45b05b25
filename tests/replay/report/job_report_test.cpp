#include "replay/report/job_report.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(JobReport, CountsItsChecks) {
  JobReport report;
  EXPECT_EQ(report.passed(), 0u);
  report.checks = {{"files", true, ""}, {"ranks", false, ""}, {"replay", true, ""}};
  EXPECT_EQ(report.passed(), 2u);
  EXPECT_EQ(report.failed(), 1u);
}

}  // namespace
}  // namespace simmesh::replay
