#include "replay/report/report_html.h"

#include <fmt/format.h>

#include "core/page/sections.h"
#include "replay/report/picture_parts.h"
#include "replay/report/report_text.h"
#include "replay/report/timeline_part.h"

namespace simmesh::replay {

PageReport job_page(const JobReport& report, const std::string& command) {
  ReportEntry entry{.name = fmt::format("A job of {} traces", report.traces.size()),
                    .passed = report.failed() == 0};
  std::vector<PageCheck> checks;
  for (const JobCheck& check : report.checks)
    checks.push_back({check.name, check.has_passed, "", check.text});
  entry.sections.push_back(checks_section(checks, report.reproduce));
  if (!report.failure.empty())
    entry.sections.push_back(failure_section("The replay that failed", report.failure));
  if (report.times) entry.sections.push_back(timeline_part(*report.times));
  if (!report.all_to_alls.empty()) entry.sections.push_back(all_to_alls_part(report.all_to_alls));
  if (JsonValue memory = memory_part(report.traces); !memory.is_null())
    entry.sections.push_back(std::move(memory));
  entry.sections.push_back(text_section("All figures", to_text(report)));
  PageReport page{.title = "simmesh replay",
                  .summary = last_line(report),
                  .passed = report.failed() == 0,
                  .command = command};
  page.add(std::move(entry));
  return page;
}

std::string to_html(const JobReport& report) { return report_page(to_json(job_page(report))); }

}  // namespace simmesh::replay
