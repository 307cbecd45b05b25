#include <fmt/format.h>

#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

bool asks_for_resume(const GateFile& gate) { return gate.checkpoint.has_value(); }

// Resumes the run from its checkpoint, and compares its results from there on.
void check_resume(CheckedRun& checked) {
  const GateCheckpoint& checkpoint = *checked.gate.checkpoint;
  RunRecord expected = from_step(*checked.base.ranks[0].record, checkpoint.save_at);
  GateRun run = checked.runner.resumed(checkpoint, expected);
  std::string name = checkpoint.name();
  checked.keep_failure(run.outcome);
  if (!run.outcome.ok())
    return checked.add(name, false, "a run that goes on", ending_of(run.outcome));
  for (const RankFindings& found : run.ranks)
    if (const auto& difference = found.differences[0])
      return checked.add(
          name, false, difference->expected,
          fmt::format("{} on rank {}: {}", difference->actual, found.rank, difference->where));
  checked.add(name, true, "the bits of the run that never stopped",
              fmt::format("the same in {} tensors on each rank", expected.size()));
}

const CheckKind resume_kind(CheckKind::OfTable{
    .table = "checkpoint", .after = "same_as", .is_asked = asks_for_resume, .runs = check_resume});

}  // namespace

}  // namespace simmesh
