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
      {"files",
       "traces were read",
       {"json", "json_text", "top_level", "schema", "schema_mixed", "rank_twice", "chakra_cut",
        "chakra_length", "chakra_message", "chakra_cycle", "chakra_dependency"}},
      {"nodes", "nodes have their fields, ids and parents", {}},
      {"tensors",
       "tensors agree with their shapes, types and storages",
       {"tensor_tuple", "numel", "item_size", "strides", "view_bounds", "shape_missing",
        "resource"}},
      {"communications",
       "communications agree with their tensors, splits and groups",
       {"comm_arguments", "split_sum", "split_length", "attr_size", "attr_name", "unknown_group",
        "own_rank", "group_identity", "group_record", "process_groups", "dangling_wait",
        "unknown_collective", "request_reused"}},
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

std::string read_words(std::size_t count, std::string_view what) {
  return counted(std::int64_t(count), what) + (count == 1 ? " was read" : " were read");
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
    // Nothing else is checked in files that can't be read.
    if (report.traces.empty() && theme.name != "files") break;
    std::size_t errors = count_of(report.findings, theme.name, Severity::error);
    std::size_t warnings = count_of(report.findings, theme.name, Severity::warning);
    std::string text(theme.what);
    if (theme.name == "files") text = read_words(report.traces.size(), "trace");
    if (errors > 0) text = counted(std::int64_t(errors), "error");
    if (warnings > 0) text += ", " + counted(std::int64_t(warnings), "warning");
    checks.push_back({std::string(theme.name), errors == 0, std::move(text)});
  }
  return checks;
}

std::vector<JobCheck> timeline_checks(const JobTimeline& timeline, const TimelineChecks& checks) {
  struct Words {
    std::string_view rule;
    std::string_view name;
    std::string_view what;
  };
  constexpr std::array<Words, 4> words = {{
      {"timeline_order", "timeline order", "ranks have the same collectives in the same order"},
      {"timeline_sizes", "timeline sizes", "sizes and splits of communications fit"},
      {"timeline_groups", "timeline groups", "ranks are in the groups of their communications"},
      {"timeline_overlap", "timeline overlap", "times of each collective overlap on its ranks"},
  }};
  auto count = [&](std::string_view rule, Severity severity) {
    return std::count_if(checks.findings.begin(), checks.findings.end(), [&](const Finding& each) {
      return each.rule == rule && each.severity == severity;
    });
  };
  std::vector<JobCheck> all = {
      {"timeline files", true, read_words(timeline.ranks.size(), "timeline")}};
  for (const TimelineCheck& check : checks.checks) {
    if (check.compared == 0) continue;
    auto known = std::find_if(words.begin(), words.end(),
                              [&](const Words& each) { return each.rule == check.rule; });
    std::int64_t errors = count(check.rule, Severity::error);
    all.push_back({std::string(known->name), errors == 0,
                   errors == 0 ? fmt::format("{}, {} compared", known->what, check.compared)
                               : counted(errors, "error")});
  }
  return all;
}

}  // namespace simmesh::replay
