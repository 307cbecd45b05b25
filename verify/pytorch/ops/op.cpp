#include <algorithm>
#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/pytorch/ops/op_compare.h"

namespace simmesh {

namespace {

// Results beyond a refusal are compared with the call on whole tensors. Sums of parts have its bits
// in exact arithmetic, where tensors may have other placements. So the arithmetic of all other
// cases first shows if the call is refused.
void verify_op(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  OpCase in = read_op_case(recorded);
  OpExpectation expectation(recorded, in);
  std::vector<OpRun> runs;
  auto run = [&](const VerifyOptions& fitting, bool computes_whole) {
    runs.assign(std::size_t(in.mesh.world), {});
    OpRunOptions run_options{.has_gradients = in.grad_output.has_value(),
                             .computes_whole = computes_whole};
    World world(world_options(fitting, in.mesh.world));
    return run_case(
        world, [&](Rank& rank) { run_op(in, run_options, rank, runs[rank.id()]); }, report);
  };
  auto error = run(options, false);
  if (expectation.may_go_beyond() && !(error && expectation.is_recorded_refusal(runs, *error))) {
    VerifyOptions exact = options;
    if (!exact.arithmetic) exact.arithmetic = "exact";
    error = run(exact, true);
  }
  if (report.failed()) return;
  expectation.check(runs, error ? &*error : nullptr, report);
}

const CaseKind op_kind({.name = "op",
                        .summary = "one call on distributed tensors: placements and bits of the "
                                   "results, and the collectives",
                        .schema = op_schema,
                        .verifier = verify_op});

const CaseKind op_grad_kind({.name = "op_grad",
                             .summary = "the same with a backward pass: also the gradients of the "
                                        "inputs, and its collectives",
                             .schema = op_grad_schema,
                             .verifier = verify_op});

}  // namespace

}  // namespace simmesh
