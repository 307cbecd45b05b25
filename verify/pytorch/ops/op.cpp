#include <algorithm>
#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/pytorch/ops/op_compare.h"

namespace simmesh {

namespace {

// What goes beyond a refusal is held to the call on whole tensors. Sums of parts have its bits in
// exact arithmetic.
VerifyOptions fitting_options(const VerifyOptions& options, const OpExpectation& expectation) {
  VerifyOptions fitting = options;
  if (expectation.may_go_beyond() && !fitting.arithmetic) fitting.arithmetic = "exact";
  return fitting;
}

void verify_op(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report) {
  OpCase in = read_op_case(recorded);
  OpExpectation expectation(recorded, in);
  std::vector<OpRun> runs(std::size_t(in.mesh.world));
  OpRunOptions run_options{.has_gradients = in.grad_output.has_value(),
                           .computes_whole = expectation.may_go_beyond()};
  World world(world_options(fitting_options(options, expectation), in.mesh.world));
  auto error = run_case(
      world, [&](Rank& rank) { run_op(in, run_options, rank, runs[rank.id()]); }, report);
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
