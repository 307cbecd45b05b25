#include "replay/report/report_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "core/check/counted.h"
#include "replay/job/found_files.h"
#include "replay/report/text_table.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t rows_max = 40;

std::string us(double figure) { return fmt::format("{:.1f}", figure); }
// A figure that can't be known is printed so.
std::string known(const std::optional<double>& figure) { return figure ? us(*figure) : "unknown"; }
std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "";
}
std::string number(std::int64_t count) { return fmt::format("{}", count); }

std::string with_heading(std::string_view heading, const TextTable& table) {
  return table.empty() ? "" : fmt::format("{}\n{}\n", heading, table.text());
}

// Tables of a large job show their first rows; the JSON has all.
std::string left_out(std::size_t rows) {
  return rows > rows_max ? fmt::format("  ... and {} more\n\n", rows - rows_max) : "";
}

std::string traces_text(const JobReport& report) {
  TextTable table({"rank", "schema", "nodes", "operators", "communications", "steps", "file"});
  for (const ReportedTrace& trace : report.traces)
    table.add({number(trace.rank), trace.summary.schema, number(trace.summary.nodes),
               number(trace.summary.operators), number(trace.summary.comm_nodes),
               number(std::int64_t(trace.summary.steps.size())), trace.file});
  std::string text = with_heading("traces", table);
  for (const std::string& made_up : report.made_up) text += "  " + made_up + "\n";
  return report.made_up.empty() ? text : text + "\n";
}

std::string memory_text(const JobReport& report) {
  TextTable table({"rank", "device", "storages", "all (bytes)", "before the first operator",
                   "lazy peak (bytes)", "at node"});
  for (const ReportedTrace& trace : report.traces)
    if (!trace.memory.storages.empty())
      table.add({number(trace.rank), trace.device,
                 number(std::int64_t(trace.memory.storages.size())), number(trace.memory.sum_bytes),
                 number(trace.memory.pre_bytes), number(trace.memory.lazy_peak_bytes),
                 number(trace.memory.lazy_peak_node)});
  return with_heading("memory", table);
}

std::string kinds_text(const ReportedTimes& times) {
  TextTable table({"communication", "bytes", "ranks", "count", "mean (us)", "p50", "p99",
                   "waiting (us)", "busbw (GB/s)"});
  for (const CommRow& row : times.table)
    table.add({row.name.empty() ? row.kernel : row.name, number(row.bytes), number(row.group_size),
               number(std::int64_t(row.count)), us(row.length_us.mean), us(row.length_us.p50),
               us(row.length_us.p99), known(row.wait_us), fmt::format("{:.2f}", row.busbw.mean)});
  return with_heading("communications by kind, over all ranks", table);
}

std::string ranks_words(const CollectiveSkew& skew) {
  std::string there = number(std::int64_t(skew.parts.size()));
  if (skew.shortest_us) return there;
  return there + (skew.members > 0 ? " of " + number(skew.members) : " of unknown");
}

// Returns what all ranks of a collective wait.
std::optional<double> waiting_of(const CollectiveSkew& skew) {
  double waiting = 0;
  for (const PartSkew& part : skew.parts) {
    if (!part.wait_us) return std::nullopt;
    waiting += *part.wait_us;
  }
  return waiting;
}

// Returns what a rank waits in all its collectives.
std::optional<double> waiting_of(const ReportedTimes& times, std::size_t rank) {
  double waiting = 0;
  for (const CollectiveSkew& skew : times.skew.collectives)
    for (const PartSkew& part : skew.parts) {
      if (part.part.rank != rank) continue;
      if (!part.wait_us) return std::nullopt;
      waiting += *part.wait_us;
    }
  return waiting;
}

std::string collectives_text(const ReportedTimes& times) {
  TextTable table({"collective", "bytes", "ranks", "first came", "last came", "moving (us)",
                   "waiting of all (us)", "last rank"});
  std::vector<std::pair<double, const CollectiveSkew*>> by_begin;
  for (const CollectiveSkew& skew : times.skew.collectives) {
    const PartSkew& part = skew.parts.front();
    by_begin.emplace_back(span_of(times.timeline, part.part).begin_us - part.start_us, &skew);
  }
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  by_begin.resize(std::min(by_begin.size(), rows_max));
  for (const auto& [begin, collective] : by_begin) {
    const CollectiveSkew& skew = *collective;
    const CommPart& part = skew.parts.front().part;
    const TimelineComm& comm = comm_of(times.timeline, part);
    bool is_whole = skew.shortest_us.has_value();
    table.add({std::string(comm_name(times.timeline, part)),
               number(std::max(comm.in_elements, comm.out_elements) * comm.item_bytes),
               ranks_words(skew), (is_whole ? "" : "<=") + us(begin),
               (is_whole ? "" : ">=") + us(begin + skew.start_spread_us), known(skew.shortest_us),
               known(waiting_of(skew)), skew.last_rank ? number(*skew.last_rank) : "unknown"});
  }
  return with_heading("collectives in order: when ranks came, what they waited and moved", table) +
         left_out(times.skew.collectives.size());
}

std::string ranks_text(const ReportedTimes& times) {
  TextTable table({"rank", "communication (us)", "of it waiting", "exposed", "compute", "copies",
                   "idle", "came last", "made others wait"});
  for (std::size_t i = 0; i < std::min(times.timeline.ranks.size(), rows_max); ++i) {
    const RankBusy& busy = times.busy[i];
    auto of_device = [&](double figure) { return times.has_device[i] ? us(figure) : "unknown"; };
    bool has_comms = times.has_device[i] || !times.timeline.ranks[i].comms.empty();
    bool is_last_known = times.skew.lasts_unknown < times.skew.collectives.size() ||
                         (times.skew.collectives.empty() && times.has_device[i]);
    table.add({number(times.timeline.ranks[i].rank), has_comms ? us(busy.comm_us) : "unknown",
               has_comms ? known(waiting_of(times, i)) : "unknown", of_device(busy.exposed_us),
               of_device(busy.compute_us), of_device(busy.copy_us), of_device(busy.idle_us),
               is_last_known ? number(times.skew.times_last[i]) : "unknown",
               is_last_known ? us(times.skew.caused_wait_us[i]) : "unknown"});
  }
  return with_heading("ranks", table) + left_out(times.timeline.ranks.size());
}

std::string steps_text(const ReportedTimes& times) {
  TextTable table({"step", "ranks", "mean (us)", "shortest", "longest"});
  for (const StepTimes& step : times.steps)
    table.add({step.name, number(std::int64_t(step.ranks.size())), us(step.mean_us),
               us(step.shortest_us), us(step.longest_us)});
  return with_heading("steps, end to end", table);
}

std::string path_text(const ReportedTimes& times) {
  double all = times.path.length_us();
  TextTable table({"critical path", "us", "share"});
  for (auto [kind, length] : times.path.by_kind_us)
    table.add({std::string(to_string(kind)), us(length), percent(length, all)});
  for (std::size_t i = 0; i < times.path.by_rank_us.size(); ++i)
    if (times.path.by_rank_us[i] > 0)
      table.add({fmt::format("rank {}", times.timeline.ranks[i].rank), us(times.path.by_rank_us[i]),
                 percent(times.path.by_rank_us[i], all)});
  return table.empty() ? "" : table.text() + "\n";
}

std::string order_text(const ReportedTimes& times) {
  std::string text;
  for (std::size_t i = 0; i < times.overtaken.size(); ++i)
    if (!times.overtaken[i].empty())
      text += fmt::format("  rank {}: {} communications end after one that was issued later\n",
                          times.timeline.ranks[i].rank, times.overtaken[i].size());
  for (const ReorderedCollective& each : times.reordered)
    text += fmt::format("  rank {} comes to collective {} and then to {}; other ranks don't\n",
                        times.timeline.ranks[each.rank].rank, each.collective, each.next);
  return text.empty() ? "" : "order\n" + text + "\n";
}

std::string waiting_text(const JobSkew& skew) {
  std::string text;
  std::string_view of_what =
      skew.waits_unknown > 0 ? "communication that all ranks show" : "all communication";
  if (skew.comm_known_us > 0)
    text = fmt::format("waiting is {} of {}\n", percent(skew.wait_us, skew.comm_known_us), of_what);
  if (skew.waits_unknown > 0)
    text += fmt::format("waiting is unknown in {} of {} collectives, of which ranks are missing\n",
                        skew.waits_unknown, skew.collectives.size());
  return text.empty() ? "" : text + "\n";
}

std::string times_text(const ReportedTimes& times) {
  return fmt::format("timeline: {}\n\n", times.is_simulated ? "simulated" : "recorded") +
         kinds_text(times) + collectives_text(times) + ranks_text(times) +
         waiting_text(times.skew) + steps_text(times) + path_text(times) + order_text(times);
}

std::string what_if_text(const JobReport& report) {
  TextTable table({"what if", "step (us)", "before", "exposed (us)", "before "});
  for (const ReportedWhatIf& asked : report.what_if)
    table.add({asked.name, us(asked.times.after.step_us), us(asked.times.before.step_us),
               us(asked.times.after.exposed_us), us(asked.times.before.exposed_us)});
  return with_heading("changes", table);
}

std::string run_text(const ReportedRun& run) {
  std::string text = fmt::format(
      "replayed {} and {} of {}{}\n", counted(std::int64_t(run.communications), "communication"),
      counted(std::int64_t(run.operators), "operator"), counted(std::int64_t(run.ranks), "rank"),
      run.shapes_only ? ", without data" : "");
  if (run.dangling_waits > 0)
    text += fmt::format("  {} waits for what began before the trace\n", run.dangling_waits);
  if (run.never_waited_for > 0)
    text += fmt::format("  {} asynchronous communications without a wait\n", run.never_waited_for);
  if (run.left_out > 0)
    text += fmt::format("  {} left out\n", counted(std::int64_t(run.left_out), "communication"));
  text += fmt::format("  at most {} bytes on a rank\n", run.peak_bytes);
  return text + fmt::format("  data hash {:016x}, schedule hash {:016x}\n\n", run.data_hash,
                            run.schedule_hash);
}

}  // namespace

std::string last_line(const JobReport& report) {
  return fmt::format("{} passed, {} failed", report.passed(), report.failed());
}

std::string to_text(const JobReport& report) {
  std::string text = traces_text(report);
  if (!report.left_out.empty()) text += left_out_words(report.left_out) + "\n\n";
  if (report.run) text += run_text(*report.run);
  if (report.times) text += times_text(*report.times);
  if (report.links) text += "links fitted to the timelines\n" + to_string(*report.links) + "\n";
  text += memory_text(report) + what_if_text(report);
  for (const Finding& finding : report.findings) text += to_string(finding) + "\n";
  if (!report.findings.empty()) text += "\n";
  if (!report.failure.empty()) text += report.failure + "\n";
  for (const JobCheck& check : report.checks)
    text += fmt::format("{} {}: {}\n", check.has_passed ? "pass" : "FAIL", check.name, check.text);
  if (!report.reproduce.empty()) text += "reproduce: " + report.reproduce + "\n";
  return text + last_line(report) + "\n";
}

}  // namespace simmesh::replay
