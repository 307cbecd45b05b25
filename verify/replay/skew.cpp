#include "replay/analysis/skew.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "replay/analysis/bandwidth.h"
#include "replay/analysis/exposed.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/replay/case_timeline.h"
#include "verify/replay/case_trace.h"

namespace simmesh {

namespace {

using nlohmann::json;

Schema skew_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema time = number_in(0, 1e15);
  Schema collective = object({expected("kernel", text()), expected("start", list(time)),
                              expected("dur", list(time)), expected("end_spread", time),
                              expected("start_spread", time), expected("last_rank", count),
                              expected("min_dur", time), expected("wait", list(time))});
  Schema step = object({expected("name", text()), expected("dur", time)});
  Schema rank = object({expected("comm_busy", time), expected("compute_busy", time),
                        expected("exposed", time), expected("steps", list(step)),
                        expected("events", count), expected("kernels", count)});
  Fields fields = trace_file_fields();
  fields.push_back(required("world", integer({.min = 1})));
  fields.push_back(expected("collectives", list(collective)));
  fields.push_back(expected("comm_us", time));
  fields.push_back(expected("wait_us", time));
  fields.push_back(expected("ranks", list(rank)));
  return object(fields);
}

json json_of(const replay::JobTimeline& job, const replay::CollectiveSkew& skew) {
  json starts = json::array(), lengths = json::array(), waits = json::array();
  for (const replay::PartSkew& part : skew.parts) {
    starts.push_back(part.start_us);
    lengths.push_back(part.length_us);
    waits.push_back(part.wait_us ? json(*part.wait_us) : json());
  }
  return {{"kernel", kernel_name(job, skew.parts.front().part)},
          {"start", starts},
          {"dur", lengths},
          {"end_spread", skew.end_spread_us},
          {"start_spread", skew.start_spread_us},
          {"last_rank", skew.last_rank ? json(*skew.last_rank) : json()},
          {"min_dur", skew.shortest_us ? json(*skew.shortest_us) : json()},
          {"wait", waits}};
}

json json_of(const replay::RankTimeline& rank) {
  replay::RankBusy busy = busy_of(rank);
  json steps = json::array();
  for (const replay::TimelineStep& step : rank.steps)
    steps.push_back({{"name", step.name}, {"dur", step.length_us()}});
  std::size_t kernels = 0;
  for (const replay::TimelineSpan& span : rank.spans)
    kernels +=
        span.kind == replay::SpanKind::compute || span.kind == replay::SpanKind::communication;
  return {{"comm_busy", busy.comm_us},  {"compute_busy", busy.compute_us},
          {"exposed", busy.exposed_us}, {"steps", steps},
          {"events", rank.events},      {"kernels", kernels}};
}

void verify_skew(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  replay::JobTimeline job = read_case_timeline(recorded, case_trace_paths(recorded));
  report.expect_equal("world", std::size_t(recorded["world"].integer()), job.ranks.size());
  replay::JobSkew skew = skew_of(job, job_collectives(job));
  json collectives = json::array(), ranks = json::array();
  for (const replay::CollectiveSkew& one : skew.collectives)
    collectives.push_back(json_of(job, one));
  for (const replay::RankTimeline& rank : job.ranks) ranks.push_back(json_of(rank));
  for (auto [name, actual] :
       {std::pair("collectives", collectives), std::pair("ranks", ranks),
        std::pair("comm_us", json(skew.comm_us)), std::pair("wait_us", json(skew.wait_us))})
    expect_same(report, name, in_nanoseconds(recorded[name].value()), in_nanoseconds(actual));
}

const CaseKind skew_kind({.name = "skew",
                          .summary = "how far apart ranks come to a collective, and who waits",
                          .schema = skew_schema,
                          .verifier = verify_skew});

}  // namespace

}  // namespace simmesh
