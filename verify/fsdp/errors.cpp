#include "verify/fsdp/errors.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "verify/case_world.h"
#include "verify/fsdp/given.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"

namespace simmesh {

namespace {

// What one rank raised, and where; nothing where `type` is empty.
struct Raised {
  std::string type;
  std::string at;
  std::string message;
};

std::string lower(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

struct ErrorPlan {
  FsdpPlan fsdp;
  GivenPlan given;
  std::vector<ProgramStep> program;
};

Raised run_until_error(const ErrorPlan& plan, const Rank& rank) {
  const std::vector<ProgramStep>& program = plan.program;
  std::string at = "build";
  try {
    ShardedModel sharded(plan.fsdp);
    give_gradients(plan.given, sharded, std::int64_t(rank.id()));
    for (std::size_t i = 0; i < plan.fsdp.wraps.size(); ++i) {
      at = fmt::format("wrap {}", i);
      sharded.wrap(i);
    }
    ProgramRun run(sharded);
    for (std::size_t i = 0; i < program.size(); ++i) {
      at = fmt::format("step {}", i);
      run.run(program[i]);
    }
  } catch (const Error& error) {
    return {std::string(to_string(error.kind())), at, error.what()};
  }
  return {};
}

// The class and place that are expected of a rank.
std::pair<std::string, std::string> expected_of(const CaseField& raises, std::size_t rank) {
  if (raises.is_null()) return {};
  auto by_rank = raises.find("by_rank");
  if (!by_rank) return {raises["type"].text(), raises["at"].text()};
  std::vector<CaseField> entries = by_rank->items();
  if (rank >= entries.size()) by_rank->reject("an entry a rank");
  if (entries[rank].is_null()) return {};
  std::vector<std::string> pair = entries[rank].texts();
  if (pair.size() != 2) entries[rank].reject("a class and a place");
  return {pair[0], pair[1]};
}

void expect_words(CaseReport& report, const CaseField& raises, const Raised& raised) {
  auto words = raises.find("words");
  if (!words) return;
  std::string message = lower(raised.message);
  for (const std::string& word : words->texts())
    if (message.find(lower(word)) == std::string::npos)
      report.mismatch(fmt::format("expected '{}' in the message, got: {}", word, raised.message));
}

}  // namespace

void verify_fsdp_errors(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  ErrorPlan plan{read_fsdp_plan(recorded), {}, {}};
  plan.given = read_given(recorded, plan.fsdp.model.dtype);
  plan.program = read_program(recorded["program"], plan.fsdp.model.dtype);
  CaseField raises = recorded["raises"];
  std::vector<Raised> of_rank(std::size_t(plan.fsdp.world));
  World world(world_options(options, plan.fsdp.world));
  auto error = run_case(
      world, [&](Rank& rank) { of_rank[rank.id()] = run_until_error(plan, rank); }, report);
  if (error) report.mismatch(fmt::format("expected a run, got {}", error->what()));
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    auto [type, at] = expected_of(raises, rank);
    const Raised& raised = of_rank[rank];
    auto text = [](const std::string& kind, const std::string& place) {
      return kind.empty() ? std::string("nothing") : fmt::format("{} at {}", kind, place);
    };
    report.expect_equal(fmt::format("rank {}: raised ({})", rank, raised.message), text(type, at),
                        text(raised.type, raised.at));
    if (!raised.type.empty() && !raises.is_null()) expect_words(report, raises, raised);
  }
}

}  // namespace simmesh
