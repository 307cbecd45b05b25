#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::run_program;

const std::string own_case = "falsify " SIMMESH_SOURCE_DIR "/examples/own_case.jsonl";

TEST(FalsifyCommand, LetsNothingThrough) {
  auto run = run_program(own_case + " --at /local/0/shape/0");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.last_line(), "2 changes: 1 failed, 1 refused, 0 may pass, 0 let through");
  auto json = nlohmann::json::parse(run_program(own_case + " --json").output);
  EXPECT_EQ(json["cases"], 1);
  EXPECT_TRUE(json["let_through"].empty());
}

// The same seed draws the same changes.
TEST(FalsifyCommand, SamplesBySeed) {
  std::string cases = "falsify " SIMMESH_SOURCE_DIR "/tests/cases/pytorch/formula.jsonl --limit 3";
  auto run = run_program(cases + " --sample 4");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run_program(cases + " --sample 4 --jobs 2").output, run.output);
  EXPECT_EQ(run.last_line().substr(0, 11), "12 changes:");
}

TEST(FalsifyCommand, EndsWithStatusTwoForBadInput) {
  EXPECT_EQ(run_program("falsify none.jsonl").status, 2);
  EXPECT_EQ(run_program("falsify").status, 2);
}

// The page says which changes may pass; a mark in a schema without it would be known to nobody.
TEST(FalsifyCommand, PrintsThePage) {
  std::ifstream page(SIMMESH_SOURCE_DIR "/docs/falsified.md");
  std::string text(std::istreambuf_iterator<char>(page), {});
  auto run = run_program("falsify --page");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output, text) << "write it anew: simmesh falsify --page > docs/falsified.md";
}

}  // namespace
}  // namespace simmesh
