#include <array>
#include <fmt/format.h>
#include <utility>

#include "replay/memory/memory_plan.h"
#include "verify/case_kind.h"
#include "verify/replay/case_trace.h"

namespace simmesh {

namespace {

using Figures = std::vector<std::pair<const char*, std::int64_t>>;

schema::Fields figure_fields(bool may_be_absent) {
  using namespace schema;
  Fields fields;
  for (const char* name :
       {"ops", "comm_ops", "storages", "sum_bytes", "pre_views", "pre_storages", "pre_bytes",
        "leaf_storages", "leaf_bytes", "lazy_peak_bytes", "lazy_peak_node"}) {
    bool is_node = std::string_view(name) == "lazy_peak_node";
    Schema figure = integer({.min = 0});
    Field field = expected(name, is_node ? or_null(figure) : figure);
    fields.push_back(may_be_absent ? field.or_absent() : field);
  }
  return fields;
}

Schema memory_replay_schema() {
  using namespace schema;
  Fields fields = trace_file_fields();
  fields.push_back(required("rank", integer({.min = 0})));
  fields.push_back(optional("member", text()));
  fields.push_back(required("window", or_null(integer({.min = 0}))));
  fields.push_back(required("device", text()));
  for (Field& field : figure_fields(false)) fields.push_back(std::move(field));
  fields.push_back(expected("without_strides", object(figure_fields(true))).or_absent());
  return object(fields);
}

// The trace of a case is the member that it names, else that of its rank.
const replay::RankTrace& rank_of(const RecordedCase& recorded, const replay::TraceJob& job) {
  auto member = recorded.find("member");
  for (const replay::RankTrace& rank : job.ranks) {
    std::string_view file = rank.file;
    if (file.ends_with(".gz")) file.remove_suffix(3);
    if (member ? file.ends_with(member->text()) : rank.rank == recorded["rank"].integer())
      return rank;
  }
  recorded[member ? "member" : "rank"].reject("one that has a trace");
}

void compare(const CaseField& recorded, const replay::MemoryPlan& plan, const std::string& prefix,
             CaseReport& report) {
  Figures figures = {{"ops", std::int64_t(plan.operators)},
                     {"comm_ops", std::int64_t(plan.comm_operators)},
                     {"storages", std::int64_t(plan.storages.size())},
                     {"sum_bytes", plan.sum_bytes},
                     {"pre_views", std::int64_t(plan.pre_views)},
                     {"pre_storages", std::int64_t(plan.pre_storages)},
                     {"pre_bytes", plan.pre_bytes},
                     {"leaf_storages", std::int64_t(plan.leaf_storages)},
                     {"leaf_bytes", plan.leaf_bytes},
                     {"lazy_peak_bytes", plan.lazy_peak_bytes}};
  for (auto [name, figure] : figures)
    if (auto field = recorded.find(name))
      report.expect_equal(prefix + name, field->integer(), figure);
  // Without operators no node is the peak.
  auto node = recorded.find("lazy_peak_node");
  if (!node ||
      !report.expect_equal(prefix + "has a lazy_peak_node", !node->is_null(), plan.operators > 0))
    return;
  if (plan.operators > 0)
    report.expect_equal(prefix + "lazy_peak_node", node->integer(), plan.lazy_peak_node);
}

void verify_memory_replay(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  replay::TraceJob job =
      replay::read_job(case_trace_paths(recorded), replay::OperatorLabels::are_left_alone);
  if (!job.findings.empty())
    recorded["rank"].reject(fmt::format("a rank whose trace can be read ({})",
                                        replay::to_string(job.findings.front())));
  const replay::RankTrace& rank = rank_of(recorded, job);
  const replay::ExecutionTrace& trace = rank.trace;
  report.expect_equal("rank", recorded["rank"].integer(), rank.rank);
  replay::MemoryPlanOptions options{.step = std::nullopt, .device = recorded["device"].text()};
  if (CaseField window = recorded["window"]; !window.is_null())
    options.step = std::size_t(window.integer());
  compare(recorded.root(), replay::memory_plan(trace, options), "", report);
  auto without = recorded.find("without_strides");
  if (!without) return;
  options.uses_strides = false;
  compare(*without, replay::memory_plan(trace, options), "without_strides: ", report);
}

const CaseKind memory_replay_kind({.name = "memory_replay",
                                   .summary = "what a replay of a trace allocates, and when",
                                   .schema = memory_replay_schema,
                                   .verifier = verify_memory_replay});

}  // namespace

}  // namespace simmesh
