#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/pytorch/in_place_program.h"

namespace simmesh {

namespace {

bool is_program(const std::string& steps) {
  InPlaceProgram program(steps);
  return true;
}

Schema in_place_schema() {
  using namespace schema;
  return object({required(
      "programs", list(object({required("steps", spelled("steps of a program", is_program)),
                               expected("hash", hash()).unless("refused"),
                               expected("refused", word(InPlaceProgram::words())).or_absent(),
                               expected("at", integer({.min = 0})).unless("hash")}),
                       {.min = 1}))});
}

std::string text_of(const InPlaceProgram::Result& result) {
  if (result.refused.empty()) return "hash " + result.hash;
  return fmt::format("refused as '{}' at step {}", result.refused, result.at);
}

InPlaceProgram::Result recorded_ending(const CaseField& program) {
  if (auto hash = program.find("hash")) return {.hash = hash->text(), .refused = {}, .at = 0};
  return {.hash = {}, .refused = program["refused"].text(), .at = program["at"].integer()};
}

void verify_in_place(const RecordedCase& recorded, const VerifyOptions& options,
                     CaseReport& report) {
  std::vector<std::string> steps;
  std::vector<std::string> expected, actual;
  for (const CaseField& program : recorded["programs"].items()) {
    steps.push_back(program["steps"].text());
    expected.push_back(text_of(recorded_ending(program)));
  }
  World world(world_options(options, 1));
  auto error = run_case(
      world,
      [&](Rank&) {
        for (const std::string& each : steps) actual.push_back(text_of(InPlaceProgram(each).run()));
      },
      report);
  if (error)
    return report.mismatch(
        fmt::format("program '{}': refused: {}", steps[actual.size()], error->what()));
  for (std::size_t i = 0; i < steps.size() && !report.failed(); ++i)
    report.expect_equal(fmt::format("program '{}'", steps[i]), expected[i], actual[i]);
}

const CaseKind in_place_kind({.name = "in_place",
                              .summary = "values and gradients of programs of views and changes in "
                                         "place, or which step is refused, and why",
                              .schema = in_place_schema,
                              .verifier = verify_in_place});

}  // namespace

}  // namespace simmesh
