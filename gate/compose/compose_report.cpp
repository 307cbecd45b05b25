#include "gate/compose/compose_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/check/join_text.h"
#include "core/check/json_value.h"
#include "core/check/one_line.h"
#include "gate/explain.h"

namespace simmesh {

namespace {

std::string mesh_text(const ComposeLayout& layout) {
  const GateLayout& mesh = layout.run.layout;
  std::vector<std::string> dims;
  for (std::size_t i = 0; i < mesh.shape.size(); ++i)
    dims.push_back(fmt::format("{} {}", mesh.names[i], mesh.shape[i]));
  return join_text(dims, ", ");
}

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
  if (result.smallest != result.layout.name) return "as the smaller layout " + result.smallest;
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
    if (!result.passed() && result.smallest == result.layout.name) smallest.push_back(&result);
  return smallest;
}

std::size_t explained_by(const Composition& found, const std::string& name) {
  return std::size_t(std::count_if(
      found.layouts.begin(), found.layouts.end(),
      [&](const LayoutResult& result) { return !result.passed() && result.smallest == name; }));
}

constexpr std::string_view style = R"(
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #1c2733; max-width: 1400px; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; font-size: 12px; }
th, td { text-align: left; padding: 0.15em 0.8em; border-bottom: 1px solid #dde3e9; }
td.number { text-align: right; } code { background: #f5f7f9; }
.pass { color: #1a7f47; } .fail { color: #b3261e; font-weight: 600; }
)";

std::string row_html(const LayoutResult& result) {
  std::string cause = cause_text(result);
  return fmt::format(
      "<tr><td class=\"{0}\">{1}</td><td class=\"number\">{2}</td><td>{3}</td><td>{4}</td>"
      "<td class=\"number\">{5}</td><td>{6}{7}{8}</td></tr>\n",
      result.passed() ? "pass" : "fail", result.passed() ? "pass" : "FAIL", result.layout.ranks(),
      markup(result.layout.name), markup(mesh_text(result.layout)), result.peak_bytes,
      markup(outcome_text(result)), cause.empty() ? "" : "<br>", markup(cause));
}

JsonValue json_of(const LayoutResult& result) {
  JsonValue json = JsonValue::object({{"layout", result.layout.name},
                                      {"forms", result.layout.forms},
                                      {"ranks", result.layout.ranks()},
                                      {"run", same_as_entry(result.layout.run)},
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
  for (const LayoutResult& result : found.layouts)
    width = std::max(width, result.layout.name.size());
  for (const LayoutResult& result : found.layouts) {
    text += fmt::format("{} {:>5} ranks  {:<{}}  {:>10} bytes  {}\n",
                        result.passed() ? "pass" : "FAIL", result.layout.ranks(),
                        result.layout.name, width, result.peak_bytes, outcome_text(result));
    if (std::string cause = cause_text(result); !cause.empty()) text += "     " + cause + "\n";
  }
  for (const MisfitGroup& group : groups_of(found.misfits))
    text += fmt::format("{} {} left out, {} first: {}\n", group.layouts.size(),
                        group.layouts.size() == 1 ? "layout" : "layouts", group.layouts[0],
                        group.reason);
  for (const LayoutResult* result : smallest_of(found))
    text += fmt::format("smallest layout that fails: {}, which stands for {}\n",
                        result->layout.name, explained_by(found, result->layout.name));
  if (!found.reproduce.empty()) text += fmt::format("reproduce: {}\n", found.reproduce);
  return text + last_line(found);
}

std::string to_json(const Composition& found) {
  JsonValue::List layouts, left_out;
  for (const LayoutResult& result : found.layouts) layouts.push_back(json_of(result));
  for (const MisfitGroup& group : groups_of(found.misfits))
    left_out.push_back(JsonValue::object({{"reason", group.reason}, {"layouts", group.layouts}}));
  JsonValue::List smallest;
  for (const LayoutResult* result : smallest_of(found)) smallest.push_back(result->layout.name);
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
  if (!found.reproduce.empty()) json.set("reproduce", found.reproduce);
  return json.text_utf8() + "\n";
}

std::string to_html(const Composition& found) {
  std::string title = found.title.empty() ? found.file : found.title;
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<style>{1}</style></head><body>\n<h1>{0}</h1>\n"
      "<p><span class=\"pass\">{2} passed</span>, <span class=\"{3}\">{4} failed</span>. "
      "One device: losses {5}, {6} tensors.</p>\n",
      markup(title), style, found.passed(), found.failed() > 0 ? "fail" : "pass", found.failed(),
      join_text(found.losses, ", "), found.tensors);
  if (std::vector<const LayoutResult*> smallest = smallest_of(found); !smallest.empty()) {
    html += "<h2>Smallest layouts that fail</h2>\n<ul>\n";
    for (const LayoutResult* result : smallest)
      html += fmt::format("<li><code>{}</code>, which stands for {}: {} {}</li>\n",
                          markup(result->layout.name), explained_by(found, result->layout.name),
                          markup(outcome_text(*result)), markup(cause_text(*result)));
    html += fmt::format("</ul>\n<p><code>{}</code></p>\n", markup(found.reproduce));
  }
  html +=
      "<h2>Layouts</h2>\n<table>\n<tr><th></th><th>ranks</th><th>layout</th><th>mesh</th>"
      "<th>peak bytes</th><th>result</th></tr>\n";
  for (const LayoutResult& result : found.layouts) html += row_html(result);
  html += "</table>\n";
  if (!found.misfits.empty()) html += "<h2>Left out</h2>\n<ul>\n";
  for (const MisfitGroup& group : groups_of(found.misfits))
    html += fmt::format("<li>{} ({}): {}</li>\n", markup(join_text(group.layouts, ", ")),
                        group.layouts.size(), markup(group.reason));
  if (!found.misfits.empty()) html += "</ul>\n";
  return html + "</body></html>\n";
}

}  // namespace simmesh
