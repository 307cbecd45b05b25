#include <algorithm>

#include "verify/case_kind.h"
#include "verify/case_model.h"
#include "verify/case_work.h"
#include "verify/case_world.h"
#include "verify/zero/train_check.h"
#include "verify/zero/train_task.h"

namespace simmesh {

namespace {

// Each step has the losses of every rank.
void require_losses(const CaseField& steps, std::int64_t world) {
  for (const CaseField& step : steps.items())
    for (const CaseField& figures : step["loss"].items())
      if (std::int64_t(figures.size()) != world)
        figures.reject(fmt::format("one loss for each of {} ranks", world));
}

void verify_zero_train(const RecordedCase& recorded, const VerifyOptions& options,
                       CaseReport& report) {
  ZeroTask task = read_zero_task(recorded);
  ZeroComparison comparison = ZeroComparison::read(recorded["compare"]);
  std::int64_t world_size = recorded["world"].integer();
  CaseField expect = recorded["expect"];
  require_work(recorded["layers"], task.model,
               {.ranks = world_size,
                .steps = task.steps * *task.config.gradient_accumulation_steps,
                .input = {task.batch, std::max(task.inputs, task.outputs)}});
  require_parameters(recorded["init"], task.model);
  require_losses(expect["steps"], world_size);
  std::vector<ZeroResult> ranks(static_cast<std::size_t>(world_size));
  World world(world_options(options, world_size));
  auto error = run_case(
      world,
      [&](Rank& rank) {
        ZeroResult& result = ranks[rank.id()];
        result = train_zero(task);
        for (const auto& [name, parameter] : result.parameters) rank.record(parameter);
      },
      report);
  if (error) return report.mismatch(fmt::format("expected a training run, got {}", error->what()));
  if (report.failed()) return;
  auto correct = recorded.find("correct_params");
  if (!correct && expect.has("error"))
    return report.mismatch("expected an error, got a training run");
  std::vector<CaseField> steps = expect["steps"].items();
  if (!correct && !comparison.exact_parameters) expect_recorded_hashes(task, expect, report);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ZeroRankCheck check(report, task, comparison, ranks[rank], rank);
    // For a disputed case only the correct parameters are known.
    if (correct) {
      check.expect_parameters(*correct);
      continue;
    }
    if (!report.expect_equal("number of steps", steps.size(), ranks[rank].steps.size())) return;
    for (std::size_t i = 0; i < steps.size(); ++i) check.expect_step(steps[i], i);
    check.expect_parameters(expect["params"]);
  }
}

const CaseKind zero_train_kind(
    {.name = "zero_train",
     .summary = "losses, norms, loss scales and parameters of every step of a run, on "
                "every rank, as the case says how",
     .schema = zero_train_schema,
     .verifier = verify_zero_train});

}  // namespace

}  // namespace simmesh
