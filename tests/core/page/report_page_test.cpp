#include "core/page/report_page.h"

#include <gmock/gmock.h>

#include "core/page/page_parts.h"
#include "core/page/sections.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JsonValue hostile_data() {
  PageReport report{.title = "<b>&\"@DATA@", .summary = "0 passed, 1 failed", .passed = false};
  ReportEntry entry{.name = "</script><script>alert(1)</script>", .passed = false};
  entry.add_figure("a \"figure\"", std::string("\x01\xff<!--", 6));
  entry.sections.push_back(text_section("]]>", "line\nline \u2028 </SCRIPT>"));
  report.add(std::move(entry));
  return to_json(report);
}

// A name in the data must not end the script element or begin another one.
TEST(ReportPage, NoTextOfTheDataIsMarkup) {
  std::string page = report_page(hostile_data());
  EXPECT_THAT(page, HasSubstr("<title>&lt;b&gt;&amp;&quot;@DATA@</title>"));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  std::size_t scripts = 0;
  for (std::size_t at = page.find("<script"); at != page.npos; at = page.find("<script", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 2u);
}

TEST(ReportPage, ItsDataIsReadAgain) {
  JsonValue data = hostile_data();
  std::string page = report_page(data);
  EXPECT_EQ(data_of_page(page, "a.html").text_utf8(), data.text_utf8());
  EXPECT_EQ(data_of_page(data.text_utf8(), "a.json").text_utf8(), data.text_utf8());
}

// The page opens from a disk without a network: nothing in it names another file.
TEST(ReportPage, NeedsNoOtherFile) {
  std::string page = report_page(hostile_data());
  for (const char* part : {"src=\"", "http:", "https:", "@import", "url(", "fetch(", "innerHTML"}) {
    std::size_t at = page.find(part);
    while (at != page.npos && page.compare(at, 27, "http://www.w3.org/2000/svg\"") == 0)
      at = page.find(part, at + 1);
    EXPECT_EQ(at, page.npos) << part;
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (std::string_view place : {"@STYLE@", "@SCRIPT@"})
    EXPECT_EQ(page.find(place), page.npos) << place;
}

// Assistive technology and the keyboard need these; the tests in a browser use them.
TEST(ReportPage, HasLandmarksAndALiveRegion) {
  for (const char* part : {"<html lang=\"en\">", "<main", "<nav", "<header", "class=\"skip\"",
                           "aria-live=\"polite\"", "<noscript>", "type=\"module\""})
    EXPECT_THAT(std::string(page_parts.frame), HasSubstr(part));
}

TEST(ReportPage, RefusesATextThatIsNoReport) {
  testing::expect_error([] { data_of_page("<html></html>", "a.html"); }, ErrorKind::value_error,
                        "a.html: expected a page that --report wrote");
  testing::expect_error([] { data_of_page("{\"passed\": 3}", "b.json"); }, ErrorKind::value_error,
                        "b.json: expected the data of a report");
  testing::expect_error([] { data_of_page("", "c.json"); }, ErrorKind::value_error, "c.json");
}

}  // namespace
}  // namespace simmesh
