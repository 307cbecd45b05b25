#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "replay/trace/trace_json.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/replay/case_trace.h"

namespace simmesh {

namespace {

Schema trace_summary_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema group = object({expected("pg_name", any_text()), expected("pg_desc", any_text()),
                         expected("ranks", list(integer())), expected("group_size", count)});
  Fields entry = {required("file", text()), expected("schema", text())};
  for (const char* name :
       {"nodes", "unique_ids", "operators", "all_operators", "triton", "comm_nodes",
        "file_order_inversions", "orphans", "backward_parent", "tensor_tuples", "tensor_ids",
        "storages", "storage_ids", "undefined_tensors", "tuples_with_two_shapes", "tensor_ranges",
        "process_group_nodes"})
    entry.push_back(expected(name, count));
  for (const char* name : {"min_id", "max_id", "root"}) entry.push_back(expected(name, integer()));
  entry.push_back(expected("comm_by_name", map(count)));
  entry.push_back(expected("steps", list(integer())));
  entry.push_back(expected("threads", map(count)));
  entry.push_back(expected("strides", flag()));
  entry.push_back(expected("process_groups", or_null(list(group))));
  Fields fields = trace_file_fields();
  fields.push_back(required("ranks", integer({.min = 1})));
  fields.push_back(expected("per_rank", list(object(entry), {.min = 1})));
  return object(fields);
}

void verify_trace_summary(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  std::vector<CaseField> per_rank = recorded["per_rank"].items();
  replay::TraceJob job = read_case_job(recorded, per_rank.size());
  report.expect_equal("ranks", std::size_t(recorded["ranks"].integer()), job.ranks.size());
  for (std::size_t i = 0; i < per_rank.size(); ++i) {
    nlohmann::json expected = per_rank[i].value();
    expected.erase("file");
    expect_same(report, fmt::format("rank {}", i), expected,
                json_of(replay::summary_json(replay::summarize(job.ranks[i].trace))));
  }
}

const CaseKind trace_summary_kind({.name = "trace_summary",
                                   .summary = "what an execution trace holds, in figures",
                                   .schema = trace_summary_schema,
                                   .verifier = verify_trace_summary});

}  // namespace

}  // namespace simmesh
