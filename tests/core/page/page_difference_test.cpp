#include "core/page/page_difference.h"

#include <gtest/gtest.h>

#include "core/page/report_page.h"
#include "core/page/sections.h"
#include "core/page/timeline_section.h"

namespace simmesh {
namespace {

struct Parts {
  std::string name = "mlp.toml";
  std::string hash = "1";
  std::int64_t length = 3;
  std::string got = "0.5";
  std::string command = "simmesh run";
};

JsonValue data_of_parts(const Parts& parts) {
  TimelineSection timeline({.unit = "event"});
  timeline.add({.rank = 0, .begin = 0, .length = 9, .name = "send"});
  timeline.add({.rank = 1, .begin = 2, .length = parts.length, .name = "sum", .site = "a.cpp:4"});
  ReportEntry entry{.name = parts.name};
  entry.add_figure("data hash", parts.hash);
  entry.sections = {checks_section({{"loss", true, "0.5", parts.got}}), timeline.json()};
  PageReport report{.title = "t", .summary = "1 passed, 0 failed", .command = parts.command};
  report.add(std::move(entry));
  return to_json(report);
}

PageDifference difference_of(const Parts& parts) {
  auto found = first_page_difference(data_of_parts({}), data_of_parts(parts));
  return found ? *found : PageDifference();
}

TEST(PageDifference, EqualReportsHaveNone) {
  EXPECT_FALSE(first_page_difference(data_of_parts({}), data_of_parts({})));
  EXPECT_FALSE(
      first_page_difference(data_of_parts({}), data_of_parts({.command = "simmesh run --jobs 2"})));
}

// The operation that differs comes before the hash that it changes.
TEST(PageDifference, TheTimelineComesFirst) {
  PageDifference found = difference_of({.hash = "2", .length = 4, .got = "0.25"});
  EXPECT_EQ(found.where, "mlp.toml, Timeline, rank 1, operation 1");
  EXPECT_EQ(found.first, "sum at a.cpp:4, from 2 for 3 event");
  EXPECT_EQ(found.second, "sum at a.cpp:4, from 2 for 4 event");
}

TEST(PageDifference, ThenFiguresAndThenTheOtherSections) {
  PageDifference figure = difference_of({.hash = "2", .got = "0.25"});
  EXPECT_EQ(figure.where, "mlp.toml, figures, data hash, 2");
  EXPECT_EQ(figure.second, "2");
  PageDifference check = difference_of({.got = "0.25"});
  EXPECT_EQ(check.where, "mlp.toml, Checks, rows, loss, got");
  EXPECT_EQ(check.first, "0.5");
}

TEST(PageDifference, APartThatOneReportLacksIsNamed) {
  PageDifference found = difference_of({.name = "other.toml"});
  EXPECT_EQ(found.where, "mlp.toml");
  EXPECT_EQ(found.second, "nothing");
}

}  // namespace
}  // namespace simmesh
