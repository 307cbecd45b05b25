#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "replay/chakra/read_chakra.h"
#include "replay/read/trace_form.h"
#include "replay/read/unpack.h"
#include "replay/trace/trace_json.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/replay/case_trace.h"
#include "verify/replay/chakra_case.h"
#include "verify/replay/chakra_feeder.h"

namespace simmesh {

namespace {

schema::Fields execution_trace_fields() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema group =
      object({expected("pg_name", any_text()), expected("pg_desc", any_text()).or_absent(),
              expected("ranks", list(integer())), expected("group_size", count)});
  Fields fields = {expected("schema", text())};
  for (const char* name :
       {"nodes", "unique_ids", "operators", "all_operators", "triton", "comm_nodes",
        "file_order_inversions", "orphans", "backward_parent", "tensor_tuples", "tensor_ids",
        "storages", "storage_ids", "undefined_tensors", "tuples_with_two_shapes", "tensor_ranges",
        "process_group_nodes"})
    fields.push_back(expected(name, count));
  for (const char* name : {"min_id", "max_id", "root"}) fields.push_back(expected(name, integer()));
  fields.push_back(expected("comm_by_name", map(count)));
  fields.push_back(expected("steps", list(integer())));
  fields.push_back(expected("threads", map(count)));
  fields.push_back(expected("strides", flag()));
  fields.push_back(expected("process_groups", or_null(list(group))));
  return fields;
}

schema::Fields with(schema::Fields fields, const schema::Field& field) {
  fields.push_back(field);
  return fields;
}

// The figures of several ranks are a list; those of one trace of Chakra may be in the case itself.
Schema trace_summary_schema() {
  using namespace schema;
  Schema entry = object_of({{"schema", with(execution_trace_fields(), expected("file", text()))},
                            {"messages", with(chakra_summary_fields(), optional("file", text()))}});
  Fields ranks = trace_file_fields();
  ranks.push_back(required("ranks", integer({.min = 1})));
  ranks.push_back(expected("per_rank", list(entry, {.min = 1})));
  Fields chakra = chakra_summary_fields();
  for (const Field& field : trace_file_fields()) chakra.push_back(field);
  chakra.push_back(optional("ranks", integer({.min = 1})));
  chakra.push_back(optional("rank", integer({.min = 0})));
  chakra.push_back(optional("member", text()));
  return object_of({{"per_rank", ranks}, {"messages", chakra}});
}

// Returns the traces of Chakra that a case has, in the order of the files.
std::vector<replay::ChakraTrace> read_chakra_traces(const RecordedCase& recorded) {
  std::vector<replay::ChakraTrace> traces;
  for (const std::string& path : case_trace_paths(recorded))
    replay::for_each_file(path, [&](replay::ByteSource& source) {
      replay::TraceForm form = replay::form_of(source);
      if (form == replay::TraceForm::chakra)
        traces.push_back(replay::read_chakra(source));
      else if (form == replay::TraceForm::chakra_json)
        traces.push_back(replay::read_chakra_json(source));
    });
  return traces;
}

void verify_chakra(const RecordedCase& recorded, const std::vector<CaseField>& entries,
                   CaseReport& report) {
  std::vector<replay::ChakraTrace> traces = read_chakra_traces(recorded);
  if (traces.size() != entries.size())
    recorded[recorded.has("file") ? "file" : "files"].reject(
        fmt::format("{} traces of Chakra, of which there are {}", entries.size(), traces.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    replay::ChakraSummary summary = chakra_summary(traces[i]);
    compare_chakra(entries[i], summary, report);
    if (is_feeder(entries[i])) compare_feeder(entries[i], traces[i], summary.order.size(), report);
  }
}

std::string_view without_gz(std::string_view file) {
  if (file.ends_with(".gz")) file.remove_suffix(3);
  return file;
}

// True if a trace is the recorded file: a path below the folder, or inside an archive.
bool is_file(std::string_view file, std::string_view recorded) {
  file = without_gz(file);
  recorded = without_gz(recorded);
  if (!file.ends_with(recorded)) return false;
  file.remove_suffix(recorded.size());
  return file.empty() || file.back() == '/' || file.back() == ':';
}

void verify_trace_summary(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  if (is_chakra(recorded.root())) return verify_chakra(recorded, {recorded.root()}, report);
  std::vector<CaseField> per_rank = recorded["per_rank"].items();
  report.expect_equal("ranks", std::size_t(recorded["ranks"].integer()), per_rank.size());
  if (is_chakra(per_rank.front())) return verify_chakra(recorded, per_rank, report);
  replay::TraceJob job = read_case_job(recorded, per_rank.size());
  for (std::size_t i = 0; i < per_rank.size(); ++i) {
    nlohmann::json expected = per_rank[i].value();
    expected.erase("file");
    std::string file = per_rank[i]["file"].text();
    if (!is_file(job.ranks[i].file, file))
      report.mismatch(
          fmt::format("rank {}: file: expected {}, got {}", i, file, job.ranks[i].file));
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
