#include "replay/report/report_json.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "core/check/json_value.h"
#include "replay/trace/trace_json.h"

namespace simmesh::replay {

namespace {

JsonValue hash_json(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

// A figure that can't be known is null.
template <class Number>
JsonValue known(const std::optional<Number>& figure) {
  return figure ? JsonValue(*figure) : JsonValue();
}

JsonValue traces_json(const JobReport& report) {
  JsonValue::List traces;
  for (const ReportedTrace& trace : report.traces)
    traces.push_back(JsonValue::object(
        {{"rank", trace.rank},
         {"file", trace.file},
         {"summary", summary_json(trace.summary)},
         {"memory", JsonValue::object({{"device", trace.device},
                                       {"operators", trace.memory.operators},
                                       {"storages", trace.memory.storages.size()},
                                       {"generations", trace.memory.generations},
                                       {"sum_bytes", trace.memory.sum_bytes},
                                       {"pre_bytes", trace.memory.pre_bytes},
                                       {"leaf_bytes", trace.memory.leaf_bytes},
                                       {"lazy_peak_bytes", trace.memory.lazy_peak_bytes},
                                       {"lazy_peak_node", trace.memory.lazy_peak_node}})}}));
  return traces;
}

JsonValue findings_json(const Findings& findings) {
  JsonValue::List list;
  for (const Finding& finding : findings) {
    JsonValue fields =
        JsonValue::object({{"severity", to_string(finding.severity)}, {"rule", finding.rule}});
    if (finding.rank) fields.set("rank", *finding.rank);
    if (finding.node) fields.set("node", *finding.node);
    if (!finding.field.empty()) fields.set("field", finding.field);
    fields.set("message", finding.message);
    list.push_back(std::move(fields));
  }
  return list;
}

JsonValue run_json(const ReportedRun& run) {
  return JsonValue::object({{"ranks", run.ranks},
                            {"communications", run.communications},
                            {"operators", run.operators},
                            {"compared", run.compared},
                            {"dangling_waits", run.dangling_waits},
                            {"never_waited_for", run.never_waited_for},
                            {"left_out", run.left_out},
                            {"schedules", run.schedules},
                            {"shapes_only", run.shapes_only},
                            {"data_hash", hash_json(run.data_hash)},
                            {"schedule_hash", hash_json(run.schedule_hash)},
                            {"peak_bytes", run.peak_bytes}});
}

JsonValue collectives_json(const ReportedTimes& times) {
  JsonValue::List list;
  for (const CollectiveSkew& skew : times.skew.collectives) {
    const CommPart& first = skew.parts.front().part;
    JsonValue::List parts;
    for (const PartSkew& part : skew.parts) {
      const RankTimeline& rank = times.timeline.ranks[part.part.rank];
      JsonValue fields =
          JsonValue::object({{"rank", rank.rank},
                             {"begin_us", span_of(times.timeline, part.part).begin_us},
                             {"length_us", part.length_us},
                             {"wait_us", known(part.wait_us)}});
      for (const CommBandwidth& each : times.bandwidths[part.part.rank].comms) {
        if (each.comm != part.part.comm) continue;
        fields.set("algbw", each.algbw);
        fields.set("busbw", each.busbw);
        fields.set("effective", known(each.effective));
      }
      parts.push_back(std::move(fields));
    }
    const TimelineComm& comm = comm_of(times.timeline, first);
    auto of_all = [&](double figure) { return skew.shortest_us ? JsonValue(figure) : JsonValue(); };
    list.push_back(JsonValue::object({{"name", comm.name},
                                      {"kernel", kernel_name(times.timeline, first)},
                                      {"in_elements", comm.in_elements},
                                      {"out_elements", comm.out_elements},
                                      {"item_bytes", comm.item_bytes},
                                      {"start_spread_us", of_all(skew.start_spread_us)},
                                      {"end_spread_us", of_all(skew.end_spread_us)},
                                      {"members", skew.members},
                                      {"moving_us", known(skew.shortest_us)},
                                      {"last_rank", known(skew.last_rank)},
                                      {"ranks", std::move(parts)}}));
  }
  return list;
}

JsonValue spread_json(const Spread& spread) {
  return JsonValue::object({{"mean", spread.mean},
                            {"p1", spread.p1},
                            {"p50", spread.p50},
                            {"p90", spread.p90},
                            {"p99", spread.p99}});
}

JsonValue kinds_json(const std::vector<CommRow>& table) {
  JsonValue::List list;
  for (const CommRow& row : table)
    list.push_back(JsonValue::object({{"kernel", row.kernel},
                                      {"name", row.name},
                                      {"bytes", row.bytes},
                                      {"group_size", row.group_size},
                                      {"groups", row.groups},
                                      {"count", row.count},
                                      {"length_us", spread_json(row.length_us)},
                                      {"busbw", spread_json(row.busbw)},
                                      {"wait_us", known(row.wait_us)},
                                      {"total_us", row.total_us}}));
  return list;
}

JsonValue ranks_json(const ReportedTimes& times) {
  JsonValue::List list;
  for (std::size_t i = 0; i < times.timeline.ranks.size(); ++i) {
    auto of_device = [&](double figure) {
      return times.has_device[i] ? JsonValue(figure) : JsonValue();
    };
    bool has_comms = times.has_device[i] || !times.timeline.ranks[i].comms.empty();
    list.push_back(
        JsonValue::object({{"rank", times.timeline.ranks[i].rank},
                           {"comm_us", has_comms ? JsonValue(times.busy[i].comm_us) : JsonValue()},
                           {"exposed_us", of_device(times.busy[i].exposed_us)},
                           {"overlapped_us", of_device(times.busy[i].overlapped_us)},
                           {"compute_us", of_device(times.busy[i].compute_us)},
                           {"copy_us", of_device(times.busy[i].copy_us)},
                           {"idle_us", of_device(times.busy[i].idle_us)},
                           {"shared_gb_s", times.bandwidths[i].shared},
                           {"times_last", times.skew.times_last[i]},
                           {"caused_wait_us", times.skew.caused_wait_us[i]},
                           {"overtaken", times.overtaken[i].size()}}));
  }
  return list;
}

JsonValue path_json(const ReportedTimes& times) {
  JsonValue by_kind = JsonValue::object();
  for (auto [kind, length] : times.path.by_kind_us)
    by_kind.set(std::string(to_string(kind)), length);
  JsonValue::List stretches;
  for (const PathStretch& stretch : times.path.stretches) {
    const RankTimeline& rank = times.timeline.ranks[stretch.rank];
    JsonValue fields = JsonValue::object({{"kind", to_string(stretch.kind)},
                                          {"rank", rank.rank},
                                          {"begin_us", stretch.begin_us},
                                          {"end_us", stretch.end_us}});
    if (stretch.span) fields.set("name", rank.text(rank.spans[*stretch.span].name));
    stretches.push_back(std::move(fields));
  }
  return JsonValue::object({{"length_us", times.path.length_us()},
                            {"by_kind_us", std::move(by_kind)},
                            {"stretches", std::move(stretches)}});
}

JsonValue times_json(const ReportedTimes& times) {
  JsonValue::List steps;
  for (const StepTimes& step : times.steps)
    steps.push_back(JsonValue::object({{"step", step.name},
                                       {"ranks", step.ranks.size()},
                                       {"mean_us", step.mean_us},
                                       {"shortest_us", step.shortest_us},
                                       {"longest_us", step.longest_us}}));
  JsonValue::List reordered;
  for (const ReorderedCollective& each : times.reordered)
    reordered.push_back(JsonValue::object({{"collective", each.collective},
                                           {"next", each.next},
                                           {"rank", times.timeline.ranks[each.rank].rank}}));
  return JsonValue::object({{"simulated", times.is_simulated},
                            {"comm_us", times.skew.comm_us},
                            {"wait_us", times.skew.wait_us},
                            {"waits_unknown", times.skew.waits_unknown},
                            {"lasts_unknown", times.skew.lasts_unknown},
                            {"kinds", kinds_json(times.table)},
                            {"collectives", collectives_json(times)},
                            {"ranks", ranks_json(times)},
                            {"steps", std::move(steps)},
                            {"critical_path", path_json(times)},
                            {"reordered", std::move(reordered)}});
}

JsonValue links_json(const FittedLinks& links) {
  JsonValue::List collectives;
  for (const FittedCollective& each : links.collectives)
    collectives.push_back(JsonValue::object({{"name", each.name},
                                             {"members", each.members},
                                             {"moved_bytes", each.moved_bytes},
                                             {"recorded_us", each.recorded_us},
                                             {"predicted_us", each.predicted_us},
                                             {"fitted", each.is_fitted}}));
  return JsonValue::object({{"latency_us", links.latency_us},
                            {"bandwidth_gb_s", links.bandwidth_gb_s},
                            {"fitted_error_us", links.fitted_error_us},
                            {"predicted_error_us", links.predicted_error_us},
                            {"collectives", std::move(collectives)}});
}

JsonValue matrices_json(const std::vector<AllToAllMatrix>& matrices) {
  JsonValue::List list;
  for (const AllToAllMatrix& matrix : matrices)
    list.push_back(JsonValue::object({{"name", matrix.name},
                                      {"node", matrix.node},
                                      {"members", matrix.members},
                                      {"item_bytes", matrix.item_bytes},
                                      {"elements", matrix.elements}}));
  return list;
}

JsonValue what_if_json(const std::vector<ReportedWhatIf>& what_if) {
  JsonValue::List list;
  auto figures = [](const WhatIfTimes::Times& times) {
    return JsonValue::object({{"step_us", times.step_us}, {"exposed_us", times.exposed_us}});
  };
  for (const ReportedWhatIf& asked : what_if) {
    JsonValue::List ranks;
    for (const WhatIfTimes::RankTimes& rank : asked.times.ranks)
      ranks.push_back(
          JsonValue::object({{"before", figures(rank.before)}, {"after", figures(rank.after)}}));
    list.push_back(JsonValue::object({{"what_if", asked.name},
                                      {"before", figures(asked.times.before)},
                                      {"after", figures(asked.times.after)},
                                      {"ranks", std::move(ranks)}}));
  }
  return list;
}

}  // namespace

std::string to_json(const JobReport& report) {
  JsonValue::List checks;
  for (const JobCheck& check : report.checks)
    checks.push_back(JsonValue::object(
        {{"check", check.name}, {"passed", check.has_passed}, {"text", check.text}}));
  JsonValue json = JsonValue::object({{"traces", traces_json(report)},
                                      {"made_up", report.made_up},
                                      {"left_out", report.left_out},
                                      {"findings", findings_json(report.findings)}});
  if (report.run) json.set("replay", run_json(*report.run));
  if (report.times) json.set("times", times_json(*report.times));
  if (report.links) json.set("links", links_json(*report.links));
  json.set("all_to_alls", matrices_json(report.all_to_alls));
  json.set("what_if", what_if_json(report.what_if));
  if (!report.failure.empty()) json.set("failure", report.failure);
  json.set("checks", std::move(checks));
  if (!report.reproduce.empty()) json.set("reproduce", report.reproduce);
  json.set("passed", report.passed());
  json.set("failed", report.failed());
  return json.text_utf8() + "\n";
}

}  // namespace simmesh::replay
