#include <algorithm>
#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/pytorch/ops/op_compare.h"

namespace simmesh {

namespace {

// Runs a case on all ranks of a world.
OpEnding run_ranks(const OpCase& in, const VerifyOptions& options, const OpRunOptions& run_options,
                   CaseReport& report) {
  OpEnding ending{.runs = std::vector<OpRun>(std::size_t(in.mesh.world))};
  World world(world_options(options, in.mesh.world));
  ending.error = run_case(
      world, [&](Rank& rank) { run_op(in, run_options, rank, ending.runs[rank.id()]); }, report);
  return ending;
}

// Results beyond a refusal are compared with the call on whole tensors. Sums of parts have its bits
// in exact arithmetic, where tensors may have other placements. So the arithmetic of all other
// cases first shows if the call is refused.
void verify_op(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  OpCase in = read_op_case(recorded);
  OpExpectation expectation(recorded, in);
  OpRunOptions run_options{.has_gradients = in.grad_output.has_value()};
  OpEnding ending = run_ranks(in, options, run_options, report);
  if (expectation.may_go_beyond() &&
      !(ending.error && expectation.is_recorded_refusal(ending.runs, *ending.error))) {
    VerifyOptions exact = options;
    if (!exact.arithmetic) exact.arithmetic = "exact";
    run_options.computes_whole = true;
    ending = run_ranks(in, exact, run_options, report);
  }
  if (report.failed()) return;
  auto run_recorded = [&](CaseReport& of_recorded) {
    return run_ranks(in, options, {.follows_recorded = true}, of_recorded);
  };
  expectation.check(ending, run_recorded, report);
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
