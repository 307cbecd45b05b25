#include "gate/compose/compose_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/check/join_text.h"
#include "core/check/json_value.h"
#include "core/check/one_line.h"
#include "core/page/sections.h"

namespace simmesh {

namespace {

// Returns what came of a layout, in words.
std::string outcome_text(const LayoutResult& result) {
  if (!result.failure.empty()) return result.failure;
  if (!result.difference)
    return fmt::format("the bits of one device in {} tensors", result.tensors);
  return fmt::format("expected {}, got {} on rank {}: {}", result.difference->expected,
                     result.difference->actual, result.rank, result.difference->where);
}

// Returns what leads from a failing layout to the cause.
std::string cause_text(const LayoutResult& result) {
  if (result.passed()) return "";
  if (result.smallest != result.name) return "as the smaller layout " + result.smallest;
  return result.first.empty() ? "" : "first: " + result.first;
}

// MisfitGroup is a reason and the layouts that it keeps out.
struct MisfitGroup {
  std::string reason;
  std::vector<std::string> layouts;
};

std::vector<MisfitGroup> groups_of(const std::vector<Misfit>& misfits) {
  std::vector<MisfitGroup> groups;
  std::map<std::string, std::size_t> known;
  for (const Misfit& misfit : misfits) {
    auto [place, is_new] = known.try_emplace(misfit.reason, groups.size());
    if (is_new) groups.push_back({misfit.reason, {}});
    groups[place->second].layouts.push_back(misfit.name);
  }
  return groups;
}

std::string last_line(const Composition& found) {
  return fmt::format("{} passed, {} failed\n", found.passed(), found.failed());
}

// Returns the smallest failing layouts, those of which no smaller one has only the same forms.
std::vector<const LayoutResult*> smallest_of(const Composition& found) {
  std::vector<const LayoutResult*> smallest;
  for (const LayoutResult& result : found.layouts)
    if (!result.passed() && result.smallest == result.name) smallest.push_back(&result);
  return smallest;
}

std::size_t explained_by(const Composition& found, const std::string& name) {
  return std::size_t(std::count_if(
      found.layouts.begin(), found.layouts.end(),
      [&](const LayoutResult& result) { return !result.passed() && result.smallest == name; }));
}

JsonValue layouts_section(const Composition& found) {
  JsonValue::List rows;
  for (const LayoutResult& result : found.layouts)
    rows.emplace_back(JsonValue::List{result.passed() ? "pass" : "FAIL", result.ranks, result.name,
                                      result.mesh, result.peak_bytes, outcome_text(result),
                                      cause_text(result)});
  return table_section("Layouts", {"", "ranks", "layout", "mesh", "peak bytes", "result", "cause"},
                       std::move(rows));
}

// Returns the smallest layouts that fail: each with the first result that differs.
JsonValue::List fault_sections(const Composition& found) {
  JsonValue::List sections;
  for (const LayoutResult* result : smallest_of(found)) {
    std::string title =
        fmt::format("{}, which stands for {}", result->name, explained_by(found, result->name));
    if (!result->difference) {
      sections.push_back(failure_section(title, result->failure));
      continue;
    }
    std::string where = fmt::format("rank {}: {}", result->rank, result->difference->where);
    if (!result->first.empty()) where += fmt::format("; first: {}", result->first);
    sections.push_back(
        fault_section({title, where, result->difference->expected, result->difference->actual}));
  }
  return sections;
}

JsonValue json_of(const LayoutResult& result) {
  JsonValue json = JsonValue::object({{"layout", result.name},
                                      {"forms", result.forms},
                                      {"ranks", result.ranks},
                                      {"run", result.entry},
                                      {"passed", result.passed()},
                                      {"peak_bytes", result.peak_bytes},
                                      {"tensors", std::int64_t(result.tensors)}});
  if (result.passed()) return json;
  json.set("smallest", result.smallest);
  if (!result.failure.empty()) json.set("failure", result.failure);
  if (result.difference)
    json.set("difference", JsonValue::object({{"rank", result.rank},
                                              {"where", result.difference->where},
                                              {"expected", result.difference->expected},
                                              {"got", result.difference->actual}}));
  if (!result.first.empty()) json.set("first", result.first);
  return json;
}

}  // namespace

std::string to_text(const Composition& found, GateTextOptions options) {
  if (options.quiet) return last_line(found);
  std::string text = fmt::format("model {}{}{}\none device: losses {}, {} tensors\n", found.file,
                                 found.title.empty() ? "" : ": ", one_line(found.title),
                                 join_text(found.losses, ", "), found.tensors);
  std::size_t width = 0;
  for (const LayoutResult& result : found.layouts) width = std::max(width, result.name.size());
  for (const LayoutResult& result : found.layouts) {
    text +=
        fmt::format("{} {:>5} ranks  {:<{}}  {:>10} bytes  {}\n", result.passed() ? "pass" : "FAIL",
                    result.ranks, result.name, width, result.peak_bytes, outcome_text(result));
    if (std::string cause = cause_text(result); !cause.empty()) text += "     " + cause + "\n";
  }
  for (const MisfitGroup& group : groups_of(found.misfits))
    text += fmt::format("{} {} left out, {} first: {}\n", group.layouts.size(),
                        group.layouts.size() == 1 ? "layout" : "layouts", group.layouts[0],
                        group.reason);
  for (const LayoutResult* result : smallest_of(found))
    text += fmt::format("smallest layout that fails: {}, which stands for {}\n", result->name,
                        explained_by(found, result->name));
  if (!found.reproduce().empty()) text += fmt::format("reproduce: {}\n", found.reproduce());
  return text + last_line(found);
}

std::string to_json(const Composition& found) {
  JsonValue::List layouts, left_out;
  for (const LayoutResult& result : found.layouts) layouts.push_back(json_of(result));
  for (const MisfitGroup& group : groups_of(found.misfits))
    left_out.push_back(JsonValue::object({{"reason", group.reason}, {"layouts", group.layouts}}));
  JsonValue::List smallest;
  for (const LayoutResult* result : smallest_of(found)) smallest.push_back(result->name);
  JsonValue json = JsonValue::object(
      {{"passed", found.passed()},
       {"failed", found.failed()},
       {"file", found.file},
       {"title", found.title},
       {"one_device",
        JsonValue::object({{"losses", found.losses}, {"tensors", std::int64_t(found.tensors)}})},
       {"layouts", std::move(layouts)},
       {"left_out", std::move(left_out)}});
  if (!smallest.empty()) json.set("smallest", std::move(smallest));
  if (!found.reproduce().empty()) json.set("reproduce", found.reproduce());
  return json.text_utf8() + "\n";
}

PageReport compose_page(const Composition& found, const std::string& command) {
  ReportEntry entry{.name = found.file, .title = found.title, .passed = found.failed() == 0};
  entry.add_figure("losses of one device", join_text(found.losses, ", "));
  entry.add_figure("tensors compared", std::int64_t(found.tensors));
  entry.sections = fault_sections(found);
  if (!found.reproduce().empty())
    entry.sections.push_back(text_section("Reproduce", found.reproduce()));
  entry.sections.push_back(layouts_section(found));
  JsonValue::List left_out;
  for (const MisfitGroup& group : groups_of(found.misfits))
    left_out.emplace_back(JsonValue::List{std::int64_t(group.layouts.size()), group.reason,
                                          join_text(group.layouts, ", ")});
  if (!left_out.empty())
    entry.sections.push_back(
        table_section("Layouts left out", {"layouts", "reason", "names"}, std::move(left_out)));
  PageReport report{.title = "simmesh compose " + found.file,
                    .summary = fmt::format("{} passed, {} failed", found.passed(), found.failed()),
                    .passed = found.failed() == 0,
                    .command = command};
  report.add(std::move(entry));
  return report;
}

std::string to_html(const Composition& found) { return report_page(to_json(compose_page(found))); }

}  // namespace simmesh
