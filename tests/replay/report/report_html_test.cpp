#include "replay/report/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/report/reported_job.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string data_of(const JobReport& report) { return to_json(job_page(report)).text_utf8(); }

TEST(ReportHtml, HasTheSectionsOfAJob) {
  JobReport report = samples::dlrm_report();
  std::string data = data_of(report);
  for (const char* part : {"14 passed, 0 failed", "Timeline, recorded", "All-to-alls",
                           "Memory over the operators", "All figures"})
    EXPECT_THAT(data, HasSubstr(part));
  EXPECT_EQ(data_of_page(to_html(report), "page.html").text_utf8(), data);
}

TEST(ReportHtml, ABrokenJobHasItsFindings) {
  std::string data = data_of(samples::report_of("trace_bad/order_differs"));
  EXPECT_THAT(data, HasSubstr(R"({"name":"ranks","passed":false)"));
  EXPECT_THAT(data, HasSubstr("error order"));
  EXPECT_THAT(data, Not(HasSubstr("Timeline,")));
}

}  // namespace
}  // namespace simmesh::replay
