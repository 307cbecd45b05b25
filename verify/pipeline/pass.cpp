#include "pipeline/analysis/dry_run.h"
#include "pipeline/analysis/spacing.h"
#include "pipeline/lowering/defer_recv.h"
#include "pipeline/lowering/merge_bw.h"
#include "pipeline/lowering/reduce_grad.h"
#include "pipeline/lowering/send_budget.h"
#include "pipeline/lowering/send_recv.h"
#include "pipeline/lowering/unshard.h"
#include "pipeline/lowering/wait_send.h"
#include "verify/case_kind.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/case_rows.h"

namespace simmesh {

namespace {

using pipeline::Rows;

Schema pipeline_pass_schema() {
  using namespace schema;
  Field map = required("stage_to_rank", stage_ranks_schema());
  // Some passes change each rank by itself, wherever stages are.
  Field idle_map = label("stage_to_rank", stage_ranks_schema()).or_absent();
  Field count = required("max_active_stages", integer());
  return object_by(
      "pass",
      {{"unshard", {count, required("unshard_lookahead", or_null(integer())), idle_map}},
       {"reduce_grad",
        {required("microbatches", microbatches_schema()),
         required("defer_reduce_grad_wait", flag()), idle_map}},
       {"send_recv", {map}},
       {"wait_send", {idle_map}},
       {"defer_recv", {map}},
       {"send_budget", {map, required("max_outstanding_sends", integer())}},
       {"merge_bw", {idle_map}},
       {"simulate", {map}},
       {"spacing", {idle_map}}},
      {required("rows", rows_schema()), expected("result", list(any_text())).unless("raises"),
       expected("raises", raises_schema()).unless("result")});
}

template <class Change>
Rows each_row(const Rows& rows, Change change) {
  Rows changed;
  for (const pipeline::Row& row : rows) changed.push_back(change(row));
  return changed;
}

pipeline::UnshardWindow read_window(const RecordedCase& recorded) {
  std::int64_t active = recorded["max_active_stages"].integer();
  CaseField lookahead = recorded["unshard_lookahead"];
  return {active, lookahead.is_null() ? active : lookahead.integer()};
}

// Runs the pass that a case names.
Rows run_pass(const RecordedCase& recorded, const Rows& rows) {
  std::string pass = recorded["pass"].text();
  if (pass == "unshard")
    return each_row(rows, [window = read_window(recorded)](const pipeline::Row& row) {
      return pipeline::add_unshard(row, window);
    });
  if (pass == "reduce_grad") {
    std::int64_t microbatches = recorded["microbatches"].integer();
    bool defers = recorded["defer_reduce_grad_wait"].boolean();
    return each_row(rows, [&](const pipeline::Row& row) {
      return pipeline::add_reduce_grad(row, microbatches, defers);
    });
  }
  if (pass == "merge_bw") return each_row(rows, pipeline::merge_bw);
  if (pass == "wait_send") return pipeline::add_wait_send(rows);
  if (pass == "spacing") return pipeline::space_out(rows).rows;
  std::vector<std::int64_t> ranks = recorded["stage_to_rank"].integers();
  pipeline::StageMap map(ranks);
  auto stages = std::int64_t(ranks.size());
  if (pass == "send_recv") return pipeline::add_send_recv(rows, map, stages);
  if (pass == "defer_recv") return pipeline::defer_recv(rows, map);
  if (pass == "simulate") return pipeline::dry_run(rows, map, stages);
  return pipeline::limit_sends(rows, map, recorded["max_outstanding_sends"].integer());
}

void verify_pipeline_pass(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  Rows rows = read_rows(recorded["rows"]);
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "the pass", *raises, [&] { run_pass(recorded, rows); });
  report.expect_equal("rows", recorded["result"].texts(), row_texts(run_pass(recorded, rows)));
}

const CaseKind pipeline_pass_kind({.name = "pipeline_pass",
                                   .summary = "rows after one lowering pass, dry run or spacing",
                                   .schema = pipeline_pass_schema,
                                   .verifier = verify_pipeline_pass});

}  // namespace

}  // namespace simmesh
