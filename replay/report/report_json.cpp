#include "replay/report/report_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "replay/trace/trace_json.h"

namespace simmesh::replay {

namespace {

using Json = nlohmann::ordered_json;

Json hash_json(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

Json traces_json(const JobReport& report) {
  Json traces = Json::array();
  for (const ReportedTrace& trace : report.traces)
    traces.push_back({{"rank", trace.rank},
                      {"file", trace.file},
                      {"summary", Json::parse(summary_json(trace.summary).text())},
                      {"memory",
                       {{"device", trace.device},
                        {"operators", trace.memory.operators},
                        {"storages", trace.memory.storages.size()},
                        {"generations", trace.memory.generations},
                        {"sum_bytes", trace.memory.sum_bytes},
                        {"pre_bytes", trace.memory.pre_bytes},
                        {"leaf_bytes", trace.memory.leaf_bytes},
                        {"lazy_peak_bytes", trace.memory.lazy_peak_bytes},
                        {"lazy_peak_node", trace.memory.lazy_peak_node}}}});
  return traces;
}

Json findings_json(const Findings& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json fields = {{"severity", to_string(finding.severity)}, {"rule", finding.rule}};
    if (finding.rank) fields["rank"] = *finding.rank;
    if (finding.node) fields["node"] = *finding.node;
    if (!finding.field.empty()) fields["field"] = finding.field;
    fields["message"] = finding.message;
    list.push_back(std::move(fields));
  }
  return list;
}

Json run_json(const ReportedRun& run) {
  return {{"ranks", run.ranks},
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
          {"peak_bytes", run.peak_bytes}};
}

Json collectives_json(const ReportedTimes& times) {
  Json list = Json::array();
  for (const CollectiveSkew& skew : times.skew.collectives) {
    const CommPart& first = skew.parts.front().part;
    Json parts = Json::array();
    for (const PartSkew& part : skew.parts) {
      const RankTimeline& rank = times.timeline.ranks[part.part.rank];
      Json fields = {{"rank", rank.rank},
                     {"begin_us", span_of(times.timeline, part.part).begin_us},
                     {"length_us", part.length_us},
                     {"wait_us", part.wait_us}};
      for (const CommBandwidth& each : times.bandwidths[part.part.rank].comms) {
        if (each.comm != part.part.comm) continue;
        fields["algbw"] = each.algbw;
        fields["busbw"] = each.busbw;
        fields["effective"] = each.effective;
      }
      parts.push_back(std::move(fields));
    }
    const TimelineComm& comm = comm_of(times.timeline, first);
    list.push_back({{"name", comm.name},
                    {"kernel", kernel_name(times.timeline, first)},
                    {"in_elements", comm.in_elements},
                    {"out_elements", comm.out_elements},
                    {"item_bytes", comm.item_bytes},
                    {"start_spread_us", skew.start_spread_us},
                    {"end_spread_us", skew.end_spread_us},
                    {"moving_us", skew.shortest_us},
                    {"last_rank", skew.last_rank},
                    {"ranks", std::move(parts)}});
  }
  return list;
}

Json spread_json(const Spread& spread) {
  return {{"mean", spread.mean},
          {"p1", spread.p1},
          {"p50", spread.p50},
          {"p90", spread.p90},
          {"p99", spread.p99}};
}

Json kinds_json(const std::vector<CommRow>& table) {
  Json list = Json::array();
  for (const CommRow& row : table)
    list.push_back({{"kernel", row.kernel},
                    {"name", row.name},
                    {"bytes", row.bytes},
                    {"group_size", row.group_size},
                    {"groups", row.groups},
                    {"count", row.count},
                    {"length_us", spread_json(row.length_us)},
                    {"busbw", spread_json(row.busbw)},
                    {"wait_us", row.wait_us},
                    {"total_us", row.total_us}});
  return list;
}

Json ranks_json(const ReportedTimes& times) {
  Json list = Json::array();
  for (std::size_t i = 0; i < times.timeline.ranks.size(); ++i)
    list.push_back({{"rank", times.timeline.ranks[i].rank},
                    {"comm_us", times.busy[i].comm_us},
                    {"exposed_us", times.busy[i].exposed_us},
                    {"overlapped_us", times.busy[i].overlapped_us},
                    {"compute_us", times.busy[i].compute_us},
                    {"copy_us", times.busy[i].copy_us},
                    {"idle_us", times.busy[i].idle_us},
                    {"shared_gb_s", times.bandwidths[i].shared},
                    {"times_last", times.skew.times_last[i]},
                    {"caused_wait_us", times.skew.caused_wait_us[i]},
                    {"overtaken", times.overtaken[i].size()}});
  return list;
}

Json path_json(const ReportedTimes& times) {
  Json by_kind = Json::object();
  for (auto [kind, length] : times.path.by_kind_us) by_kind[std::string(to_string(kind))] = length;
  Json stretches = Json::array();
  for (const PathStretch& stretch : times.path.stretches) {
    const RankTimeline& rank = times.timeline.ranks[stretch.rank];
    Json fields = {{"kind", to_string(stretch.kind)},
                   {"rank", rank.rank},
                   {"begin_us", stretch.begin_us},
                   {"end_us", stretch.end_us}};
    if (stretch.span) fields["name"] = rank.text(rank.spans[*stretch.span].name);
    stretches.push_back(std::move(fields));
  }
  return {{"length_us", times.path.length_us()},
          {"by_kind_us", std::move(by_kind)},
          {"stretches", std::move(stretches)}};
}

Json times_json(const ReportedTimes& times) {
  Json steps = Json::array();
  for (const StepTimes& step : times.steps)
    steps.push_back({{"step", step.name},
                     {"ranks", step.ranks.size()},
                     {"mean_us", step.mean_us},
                     {"shortest_us", step.shortest_us},
                     {"longest_us", step.longest_us}});
  Json reordered = Json::array();
  for (const ReorderedCollective& each : times.reordered)
    reordered.push_back({{"collective", each.collective},
                         {"next", each.next},
                         {"rank", times.timeline.ranks[each.rank].rank}});
  return {{"simulated", times.is_simulated},
          {"comm_us", times.skew.comm_us},
          {"wait_us", times.skew.wait_us},
          {"kinds", kinds_json(times.table)},
          {"collectives", collectives_json(times)},
          {"ranks", ranks_json(times)},
          {"steps", std::move(steps)},
          {"critical_path", path_json(times)},
          {"reordered", std::move(reordered)}};
}

Json links_json(const FittedLinks& links) {
  Json collectives = Json::array();
  for (const FittedCollective& each : links.collectives)
    collectives.push_back({{"name", each.name},
                           {"members", each.members},
                           {"moved_bytes", each.moved_bytes},
                           {"recorded_us", each.recorded_us},
                           {"predicted_us", each.predicted_us},
                           {"fitted", each.is_fitted}});
  return {{"latency_us", links.latency_us},
          {"bandwidth_gb_s", links.bandwidth_gb_s},
          {"fitted_error_us", links.fitted_error_us},
          {"predicted_error_us", links.predicted_error_us},
          {"collectives", std::move(collectives)}};
}

Json matrices_json(const std::vector<AllToAllMatrix>& matrices) {
  Json list = Json::array();
  for (const AllToAllMatrix& matrix : matrices)
    list.push_back({{"name", matrix.name},
                    {"node", matrix.node},
                    {"members", matrix.members},
                    {"item_bytes", matrix.item_bytes},
                    {"elements", matrix.elements}});
  return list;
}

Json what_if_json(const std::vector<ReportedWhatIf>& what_if) {
  Json list = Json::array();
  auto figures = [](const WhatIfTimes::Times& times) {
    return Json{{"step_us", times.step_us}, {"exposed_us", times.exposed_us}};
  };
  for (const ReportedWhatIf& asked : what_if) {
    Json ranks = Json::array();
    for (const WhatIfTimes::RankTimes& rank : asked.times.ranks)
      ranks.push_back({{"before", figures(rank.before)}, {"after", figures(rank.after)}});
    list.push_back({{"what_if", asked.name},
                    {"before", figures(asked.times.before)},
                    {"after", figures(asked.times.after)},
                    {"ranks", std::move(ranks)}});
  }
  return list;
}

}  // namespace

std::string to_json(const JobReport& report) {
  Json checks = Json::array();
  for (const JobCheck& check : report.checks)
    checks.push_back({{"check", check.name}, {"passed", check.has_passed}, {"text", check.text}});
  Json json = {{"traces", traces_json(report)},
               {"made_up", report.made_up},
               {"findings", findings_json(report.findings)}};
  if (report.run) json["replay"] = run_json(*report.run);
  if (report.times) json["times"] = times_json(*report.times);
  if (report.links) json["links"] = links_json(*report.links);
  json["all_to_alls"] = matrices_json(report.all_to_alls);
  json["what_if"] = what_if_json(report.what_if);
  if (!report.failure.empty()) json["failure"] = report.failure;
  json["checks"] = std::move(checks);
  if (!report.reproduce.empty()) json["reproduce"] = report.reproduce;
  json["passed"] = report.passed();
  json["failed"] = report.failed();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace simmesh::replay
