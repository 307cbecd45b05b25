#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "checkpoint/read/open.h"
#include "core/check/counted.h"
#include "core/check/join_text.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

bool asks_for_resume(const GateFile& gate) { return gate.checkpoint.has_value(); }

std::vector<std::string> names_of(const checkpoint::Location& location) {
  checkpoint::Catalog catalog = checkpoint::open(location).catalog;
  std::vector<std::string> names;
  for (const checkpoint::StoredTensor& tensor : catalog.tensors) names.push_back(tensor.name);
  for (const checkpoint::StoredObject& object : catalog.objects) names.push_back(object.name);
  return names;
}

// Checks that each part of a modular checkpoint is one by itself, with the names of that part.
void check_parts(CheckedRun& checked, const checkpoint::Location& whole) {
  std::set<std::string> parts, missing;
  for (const std::string& name : names_of(whole)) {
    std::string part(checkpoint::part_of_name(name));
    parts.insert(part);
    missing.insert(name);
  }
  for (const std::string& part : parts)
    for (const std::string& name : names_of({whole.store, fmt::format("{}/{}", whole.name, part)}))
      if (checkpoint::part_of_name(name) == part) missing.erase(name);
  checked.add("modular checkpoint", missing.empty(), "a checkpoint of its own for each part",
              missing.empty()
                  ? join_text(std::vector<std::string>(parts.begin(), parts.end()), ", ")
                  : fmt::format("no part with {}", *missing.begin()));
}

// Checks that a run that goes on as it was reads no file of another rank.
void check_local(CheckedRun& checked, const GateRun& run) {
  auto other = std::find_if(run.ranks.begin(), run.ranks.end(),
                            [](const RankFindings& found) { return !found.loads_locally; });
  bool holds = other == run.ranks.end();
  checked.add("local resume", holds, "each rank to read its own files",
              holds ? "that" : fmt::format("a plan for all ranks on rank {}", other->rank));
}

void check_averages(CheckedRun& checked, const std::vector<checkpoint::Difference>& differences) {
  checked.add("moving averages", differences.empty(), "the averages of the run that never stopped",
              differences.empty()
                  ? "the same"
                  : fmt::format("{}: {}", differences[0].name, differences[0].text));
}

// Resumes the run from its checkpoint, and compares its results from there on.
void check_resume(CheckedRun& checked) {
  const GateCheckpoint& checkpoint = *checked.gate.checkpoint;
  RunRecord expected = from_step(*checked.base.ranks[0].record, checkpoint.save_at);
  GateRunner::ResumedRun resumed = checked.runner.resumed(checkpoint, expected);
  const GateRun& run = resumed.run;
  std::string name = checkpoint.name();
  checked.keep_failure(run.outcome);
  if (!run.outcome.ok())
    return checked.add(name, false, "a run that goes on", ending_of(run.outcome));
  for (const RankFindings& found : run.ranks)
    if (const auto& difference = found.differences[0])
      return checked.add(
          name, false, difference->expected,
          fmt::format("{} on rank {}: {}", difference->actual, found.rank, difference->where));
  checked.add(
      name, true, "the bits of the run that never stopped",
      fmt::format("the same in {} on each rank", counted(std::int64_t(expected.size()), "tensor")));
  if (checkpoint.contents.layout == checkpoint::SaveLayout::modular)
    check_parts(checked, resumed.saved);
  if (checkpoint.contents.keeps_local && checkpoint.resumes_alike) check_local(checked, run);
  if (checkpoint.contents.ema) check_averages(checked, resumed.averages);
}

const CheckKind resume_kind(CheckKind::OfTable{
    .table = "checkpoint", .after = "same_as", .is_asked = asks_for_resume, .runs = check_resume});

}  // namespace

}  // namespace simmesh
