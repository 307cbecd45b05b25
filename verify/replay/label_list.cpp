#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "replay/trace/trace_json.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/replay/case_trace.h"

namespace simmesh {

namespace {

Schema label_list_schema() {
  using namespace schema;
  Schema tensors = list(tuple({any_text(), integer({.min = 0})}));
  Schema label =
      object({expected("node", integer()), expected("name", text()), expected("in", tensors),
              expected("out", tensors), expected("ints", list(list(integer())))});
  Fields fields = trace_file_fields();
  fields.push_back(expected("per_rank", list(list(label), {.min = 1})));
  return object(fields);
}

void verify_label_list(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  std::vector<CaseField> per_rank = recorded["per_rank"].items();
  replay::TraceJob job = read_case_job(recorded, per_rank.size());
  for (std::size_t i = 0; i < per_rank.size(); ++i)
    expect_same(report, fmt::format("rank {}", i), per_rank[i].value(),
                json_of(replay::label_list_json(job.ranks[i].trace)));
}

const CaseKind label_list_kind({.name = "label_list",
                                .summary = "the calls of an execution trace by their c10d:: labels",
                                .schema = label_list_schema,
                                .verifier = verify_label_list});

}  // namespace

}  // namespace simmesh
