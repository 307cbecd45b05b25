#include "replay/analysis/bandwidth.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "replay/analysis/join_trace.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/replay/case_timeline.h"
#include "verify/replay/case_trace.h"

namespace simmesh {

namespace {

using nlohmann::json;

Schema bandwidth_schema() {
  using namespace schema;
  Schema figure = number_in(0, 1e15);
  Schema op = object({expected("name", text()), expected("bytes", integer({.min = 0})),
                      expected("dur", figure), expected("algbw", figure), expected("busbw", figure),
                      expected("moved", figure), expected("effective", figure)});
  Schema rank = object({expected("rank", integer({.min = 0})), expected("ops", list(op)),
                        expected("shared", figure)});
  return object({required("files", tuple({text(), text()})),
                 required("group_size", integer({.min = 1})),
                 expected("per_rank", list(rank, {.min = 1}))});
}

// Values that aren't rounded by definition are recorded with six decimals.
json json_of(const replay::RankBandwidth& bandwidth) {
  json ops = json::array();
  for (const replay::CommBandwidth& one : bandwidth.comms)
    ops.push_back(
        {{"name", one.name},
         {"bytes", one.bytes},
         {"dur", one.length_us},
         {"algbw", one.algbw},
         {"busbw", one.busbw},
         {"moved", one.moved},
         {"effective", one.effective ? json(replay::rounded(*one.effective, 6)) : json()}});
  return {{"ops", ops}, {"shared", replay::rounded(bandwidth.shared, 6)}};
}

void verify_bandwidth(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  std::vector<std::string> paths = case_trace_paths(recorded);
  gsl::span<const std::string> files = paths;
  replay::JobTimeline timeline = read_case_timeline(recorded, files.subspan(1));
  join_trace(timeline, replay::read_job(files.first(1)), recorded["group_size"].integer());
  std::vector<replay::RankBandwidth> ranks = bandwidth_of(timeline, job_collectives(timeline));
  std::vector<CaseField> fields = recorded["per_rank"].items();
  if (!report.expect_equal("number of ranks", fields.size(), ranks.size())) return;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    json expected = fields[i].value();
    report.expect_equal("rank", fields[i]["rank"].integer(), timeline.ranks[i].rank);
    expected.erase("rank");
    expect_same(report, fmt::format("rank {}", timeline.ranks[i].rank), expected,
                json_of(ranks[i]));
  }
}

const CaseKind bandwidth_kind({.name = "bandwidth",
                               .summary = "how fast collectives were, by the usual formulas",
                               .schema = bandwidth_schema,
                               .verifier = verify_bandwidth});

}  // namespace

}  // namespace simmesh
