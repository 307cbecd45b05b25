#include "gate/checked_run.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/hash_text.h"

namespace simmesh {

std::size_t CheckedRun::recorded_ranks() const {
  auto ranks = std::size_t(gate.ranks());
  return gate.world.fold ? std::min<std::size_t>(ranks, 2) : ranks;
}

void CheckedRun::add(std::string name, bool passed, std::string expected, std::string actual) {
  result.checks.push_back({std::move(name), passed, std::move(expected), std::move(actual)});
}

void CheckedRun::keep_failure(const Outcome& outcome) {
  if (outcome.ok()) return;
  // The report's last line reproduces a program; the gate prints its own.
  std::string text = report(outcome);
  result.failure = text.substr(0, text.rfind("\nreproduce: "));
}

std::string ending_of(const Outcome& outcome) {
  if (outcome.ok()) return fmt::format("data hash {}", hash_text(outcome.data_hash));
  const Failure& failure = *outcome.failure;
  std::string text =
      failure.rank == no_rank ? "" : fmt::format("the failure of rank {}: ", failure.rank);
  return text + failure.message.substr(0, failure.message.find('\n'));
}

}  // namespace simmesh
