#include "replay/report/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/report/reported_job.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportHtml, IsAPageThatNeedsNoOtherFile) {
  std::string html = to_html(samples::dlrm_report());
  for (const char* part : {"<!DOCTYPE html>", "14 passed, 0 failed", "Timeline, recorded",
                           "waiting for other ranks", "All-to-alls", "Memory over the operators"})
    EXPECT_THAT(html, HasSubstr(part));
  for (const char* part : {"src=", "href=", "@import", "url("})
    EXPECT_THAT(html, Not(HasSubstr(part)));
}

TEST(ReportHtml, ABrokenJobHasItsFindings) {
  std::string html = to_html(samples::report_of("trace_bad/order_differs"));
  EXPECT_THAT(html, HasSubstr("<span class=\"fail\">FAIL</span> ranks: "));
  EXPECT_THAT(html, HasSubstr("error order"));
  EXPECT_THAT(html, Not(HasSubstr("<h2>Timeline")));
}

}  // namespace
}  // namespace simmesh::replay
