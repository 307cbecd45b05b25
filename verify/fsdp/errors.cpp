#include <fmt/format.h>

#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/fsdp/given.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"

namespace simmesh {

namespace {

Schema errors_schema() {
  using namespace schema;
  Fields fields = fsdp_fields(unusual_model_fields());
  for (Field& field : given_fields()) fields.push_back(field.or_absent());
  Field words = expected("words", list(text()))
                    .because("words are in no order, and fewer or shorter ones ask for less");
  Schema alike = object({expected("type", text()), expected("at", text()), words});
  Schema by_rank =
      object({expected("by_rank", list(or_null(tuple({text(), text()})), {.min = 1})), words});
  fields.push_back(required("program", program_schema({.steps_min = 0})));
  fields.push_back(expected("raises", either({null(), by_rank, alike})));
  return object(std::move(fields));
}

// The error and place of one rank; none where `type` is empty.
struct Raised {
  std::string type;
  std::string at;
  std::string message;
};

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

// Returns the class and place that are expected of a rank.
std::pair<std::string, std::string> expected_of(const CaseField& raises, std::size_t rank) {
  if (raises.is_null()) return {};
  auto by_rank = raises.find("by_rank");
  if (!by_rank) return {raises["type"].text(), raises["at"].text()};
  CaseField entry = by_rank->items()[rank];
  if (entry.is_null()) return {};
  std::vector<std::string> pair = entry.texts();
  return {pair[0], pair[1]};
}

void verify_fsdp_errors(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  ErrorPlan plan{read_fsdp_plan(recorded), {}, {}};
  plan.given = read_given(recorded, plan.fsdp.model);
  plan.program = read_program(recorded["program"], plan.fsdp.model.dtype, {.makes_mistakes = true});
  require_program(recorded, plan.fsdp, plan.program);
  CaseField raises = recorded["raises"];
  require_ranks(raises, plan.fsdp.world);
  std::vector<Raised> of_rank(std::size_t(plan.fsdp.world));
  World world(world_options(options, plan.fsdp.world));
  auto error = run_case(
      world, [&](Rank& rank) { of_rank[rank.id()] = run_until_error(plan, rank); }, report);
  if (error) report.mismatch(fmt::format("expected a run without an error, got {}", error->what()));
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    auto [type, at] = expected_of(raises, rank);
    const Raised& raised = of_rank[rank];
    auto text = [](const std::string& kind, const std::string& place) {
      return kind.empty() ? std::string("no error") : fmt::format("{} at {}", kind, place);
    };
    report.expect_equal(fmt::format("rank {}: raised ({})", rank, raised.message), text(type, at),
                        text(raised.type, raised.at));
    if (!raised.type.empty() && !raises.is_null()) report.expect_words("", raises, raised.message);
  }
}

const CaseKind fsdp_errors_kind(
    {.name = "fsdp_errors",
     .summary = "class, place and words of the error of a misuse, on every rank",
     .schema = errors_schema,
     .verifier = verify_fsdp_errors});

}  // namespace

}  // namespace simmesh
