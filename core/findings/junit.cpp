#include <fmt/format.h>
#include <map>

#include "core/check/append_text.h"
#include "core/check/one_line.h"
#include "core/findings/judged_checks.h"

namespace simmesh {

namespace {

struct TestSuite {
  std::string name;
  std::vector<const JudgedCheck*> checks;
  std::size_t failures = 0;
};

// Returns the suites in the order of their first checks.
std::vector<TestSuite> suites_of(gsl::span<const JudgedCheck> checks) {
  std::vector<TestSuite> suites;
  std::map<std::string, std::size_t> known;
  for (const JudgedCheck& check : checks) {
    auto [place, is_new] = known.try_emplace(check.suite, suites.size());
    if (is_new) suites.push_back({check.suite, {}, 0});
    TestSuite& suite = suites[place->second];
    suite.checks.push_back(&check);
    suite.failures += check.finding.has_value();
  }
  return suites;
}

// Returns a text as an attribute or as the text of an element: bytes that aren't UTF-8, and control
// characters, which XML can't hold, are written as reports show them.
std::string xml(std::string_view text) { return markup(printable_report(text)); }

std::string failure_of(const CheckFinding& finding) {
  std::string body = finding.details.empty() ? finding.message : finding.details;
  if (!finding.file.empty() && finding.line)
    append_text(body, "\nat {}:{}", finding.file, *finding.line);
  if (!finding.reproduce.empty() && body.find(finding.reproduce) == body.npos)
    append_text(body, "\nreproduce: {}", finding.reproduce);
  return fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", xml(finding.rule),
                     xml(finding.message), xml(body));
}

}  // namespace

std::string to_junit(gsl::span<const JudgedCheck> checks) {
  std::vector<TestSuite> suites = suites_of(checks);
  std::size_t failures = 0;
  for (const TestSuite& suite : suites) failures += suite.failures;
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  append_text(text, "<testsuites name=\"simmesh\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
              checks.size(), failures);
  for (const TestSuite& suite : suites) {
    append_text(text,
                "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
                "skipped=\"0\">\n",
                xml(suite.name), suite.checks.size(), suite.failures);
    for (const JudgedCheck* check : suite.checks) {
      append_text(text, "    <testcase classname=\"{}\" name=\"{}\"", xml(suite.name),
                  xml(check->name));
      if (check->finding)
        append_text(text, ">\n{}    </testcase>\n", failure_of(*check->finding));
      else
        text += "/>\n";
    }
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace simmesh
