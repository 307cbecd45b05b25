#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "replay/trace/replay_list.h"
#include "replay/trace/trace_json.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/replay/case_trace.h"

namespace simmesh {

namespace {

Schema comm_list_schema() {
  using namespace schema;
  Schema integers = list(integer());
  Schema count = integer({.min = 0});
  Schema comm =
      object({expected("node", integer()), expected("name", any_text()),
              expected("req", either({integer(), tuple({integer(), flag()})})),
              expected("group", either({integer(), list(any_text(), {.max = 2})})),
              expected("rank", integer()), expected("in_split", integers),
              expected("out_split", integers), expected("in", count), expected("out", count),
              expected("dtype", or_null(text())), expected("attrs", map(any())).or_absent()});
  Fields fields = trace_file_fields();
  fields.push_back(expected("per_rank", list(list(comm), {.min = 1})));
  return object(fields);
}

void verify_comm_list(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  std::vector<CaseField> per_rank = recorded["per_rank"].items();
  replay::TraceJob job = read_case_job(recorded, per_rank.size());
  for (std::size_t i = 0; i < per_rank.size(); ++i) {
    const replay::ExecutionTrace& trace = job.ranks[i].trace;
    replay::ReplayList list = replay::replay_list(trace, replay::tree_of(trace));
    expect_same(report, fmt::format("rank {}", i), per_rank[i].value(),
                json_of(replay::comm_list_json(trace, list)));
  }
}

const CaseKind comm_list_kind({.name = "comm_list",
                               .summary = "the communications of an execution trace, in order",
                               .schema = comm_list_schema,
                               .verifier = verify_comm_list});

}  // namespace

}  // namespace simmesh
