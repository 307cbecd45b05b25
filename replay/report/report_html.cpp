#include "replay/report/report_html.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/one_line.h"
#include "replay/report/heat_map_svg.h"
#include "replay/report/memory_svg.h"
#include "replay/report/report_text.h"
#include "replay/report/timeline_svg.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t drawings_max = 8;

constexpr std::string_view style = R"(
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #1c2733; max-width: 1240px; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; } h3 { font-size: 1em; }
pre { background: #f5f7f9; padding: 1em; overflow-x: auto; font-size: 12px; }
.pass { color: #1a7f47; } .fail { color: #b3261e; font-weight: 600; }
.key { display: inline-block; width: 1em; height: 0.8em; margin: 0 0.4em 0 1.2em; }
svg { display: block; max-width: 100%; height: auto; }
svg text { font: 10px system-ui, sans-serif; fill: #52606d; } svg .tick { text-anchor: middle; }
svg .axis { stroke: #dde3e9; } .waiting { fill: #f0a63c; background: #f0a63c; }
.moving { fill: #2f6fde; background: #2f6fde; } .compute { fill: #4aa972; background: #4aa972; }
.copy { fill: #9b8ac4; background: #9b8ac4; }
.communication { fill: #7d94b5; background: #7d94b5; } polyline { fill: none; stroke-width: 1.5; }
.lazy { stroke: #2f6fde; } .pre { stroke: #f0a63c; }
.maps { display: flex; flex-wrap: wrap; gap: 2em; }
)";

std::string key(std::string_view name, std::string_view words) {
  return fmt::format("<span class=\"key {}\"></span>{}", name, words);
}

std::string checks_html(const JobReport& report) {
  std::string html = "<ul>\n";
  for (const JobCheck& check : report.checks)
    html += fmt::format("<li><span class=\"{}\">{}</span> {}: {}</li>\n",
                        check.has_passed ? "pass" : "fail", check.has_passed ? "pass" : "FAIL",
                        markup(check.name), markup(check.text));
  return html + "</ul>\n";
}

std::string timeline_html(const ReportedTimes& times) {
  std::string_view unknown = times.skew.waits_unknown > 0 ? "waiting or moving bytes" : "";
  return fmt::format("<h2>Timeline, {}</h2>\n<p>{}{}{}{}{}</p>\n",
                     times.is_simulated ? "simulated" : "recorded",
                     key("waiting", "waiting for other ranks"), key("moving", "moving bytes"),
                     unknown.empty() ? "" : key("communication", unknown),
                     key("compute", "computing"), key("copy", "copying")) +
         timeline_svg(times);
}

std::string all_to_alls_html(const std::vector<AllToAllMatrix>& matrices) {
  std::string html = "<h2>All-to-alls: bytes from each rank (row) to each (column)</h2>\n";
  if (matrices.size() > drawings_max)
    html += fmt::format("<p>The first {} of {}.</p>\n", drawings_max, matrices.size());
  html += "<div class=\"maps\">\n";
  for (std::size_t i = 0; i < std::min(matrices.size(), drawings_max); ++i)
    html += fmt::format("<div><h3>{}, node {}</h3>\n{}</div>\n", markup(matrices[i].name),
                        matrices[i].node, heat_map_svg(matrices[i]));
  return html + "</div>\n";
}

// Shows the ranks with the highest peaks.
std::string memory_html(const JobReport& report) {
  std::vector<const ReportedTrace*> traces;
  for (const ReportedTrace& trace : report.traces)
    if (!trace.memory.storages.empty()) traces.push_back(&trace);
  if (traces.empty()) return "";
  std::stable_sort(traces.begin(), traces.end(), [](const auto* a, const auto* b) {
    return a->memory.lazy_peak_bytes > b->memory.lazy_peak_bytes;
  });
  traces.resize(std::min(traces.size(), drawings_max));
  std::string html = fmt::format("<h2>Memory over the operators</h2>\n<p>{}{}</p>\n",
                                 key("moving", "made at the first use, freed after the last"),
                                 key("waiting", "made beforehand where it has to be, and kept"));
  for (const ReportedTrace* trace : traces)
    html += fmt::format("<h3>rank {}, {}</h3>\n{}", trace->rank, markup(trace->device),
                        memory_svg(trace->memory));
  return html;
}

}  // namespace

std::string to_html(const JobReport& report) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>A job's "
      "traces</title>\n<style>{}</style>\n</head>\n<body>\n<h1>A job of {} traces: {}</h1>\n",
      style, report.traces.size(), last_line(report));
  html += checks_html(report);
  if (report.times) html += timeline_html(*report.times);
  if (!report.all_to_alls.empty()) html += all_to_alls_html(report.all_to_alls);
  html += memory_html(report);
  html += "<h2>All figures</h2>\n<pre>" + markup(to_text(report)) + "</pre>\n";
  return html + "</body>\n</html>\n";
}

}  // namespace simmesh::replay
