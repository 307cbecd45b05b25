#include "replay/report/job_checks.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "core/check/counted.h"

namespace simmesh::replay {

namespace {

struct Theme {
  std::string_view name;
  std::string_view what;
  std::vector<std::string_view> rules;
};

const std::vector<Theme>& themes() {
  static const std::vector<Theme> all = {
      {"files", "traces were read", {"json", "top_level", "schema", "schema_mixed", "event"}},
      {"nodes", "nodes have their fields, ids and parents", {}},
      {"tensors",
       "tensors agree with their shapes, types and storages",
       {"tensor_tuple", "numel", "item_size", "strides", "view_bounds", "shape_missing",
        "resource"}},
      {"communications",
       "communications agree with their tensors, splits and groups",
       {"comm_arguments", "split_sum", "split_length", "attr_size", "attr_name", "unknown_group",
        "own_rank", "group_identity", "group_record", "process_groups", "dangling_wait"}},
      {"ranks",
       "ranks call the same collectives, with sizes that fit",
       {"rank_missing", "order", "count", "root", "dtype", "size_relation", "split_transpose",
        "group_membership"}},
      {"messages", "each message has its receive", {"p2p_unmatched"}}};
  return all;
}

std::size_t count_of(const Findings& findings, std::string_view theme, Severity severity) {
  return std::size_t(std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.severity == severity && theme_of(finding.rule) == theme;
  }));
}

}  // namespace

std::string_view theme_of(std::string_view rule) {
  for (const Theme& theme : themes())
    if (std::find(theme.rules.begin(), theme.rules.end(), rule) != theme.rules.end())
      return theme.name;
  return "nodes";
}

std::vector<JobCheck> finding_checks(const JobReport& report) {
  std::vector<JobCheck> checks;
  for (const Theme& theme : themes()) {
    std::size_t errors = count_of(report.findings, theme.name, Severity::error);
    std::size_t warnings = count_of(report.findings, theme.name, Severity::warning);
    std::string text(theme.what);
    if (theme.name == "files") text = fmt::format("{} {}", report.traces.size(), text);
    if (errors > 0) text = counted(std::int64_t(errors), "error");
    if (warnings > 0) text += ", " + counted(std::int64_t(warnings), "warning");
    checks.push_back({std::string(theme.name), errors == 0, std::move(text)});
  }
  return checks;
}

}  // namespace simmesh::replay
