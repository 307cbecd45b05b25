#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

TEST(ValidateCommand, PrintsALineAnOpAndTheCounts) {
  auto run = run_program("validate mm neg --jobs 1");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.rfind("pass mm (rules): ", 0), 0u) << run.output;
  EXPECT_NE(run.output.find("\npass neg (rules): "), run.output.npos);
  EXPECT_NE(run.last_line().find(" rules, 0 wrong, "), std::string::npos);
  EXPECT_EQ(run_program("validate mm neg --jobs 2").output, run.output);
  EXPECT_EQ(run_program("validate mm neg --quiet").output, run.last_line() + "\n");
}

TEST(ValidateCommand, LooksForMissingRulesUnlessToldNotTo) {
  EXPECT_NE(run_program("validate add").output.find("  missing add(ab ab): R,P(max) -> P(max)"),
            std::string::npos);
  EXPECT_NE(run_program("validate add --claimed-only").last_line().find(" 0 missing"),
            std::string::npos);
}

TEST(ValidateCommand, PrintsTheSameAsJson) {
  auto run = run_program("validate mm --json");
  auto result = nlohmann::json::parse(run.output);
  EXPECT_EQ(result["wrong"], 0);
  EXPECT_GT(result["rules"], 0);
  EXPECT_EQ(result["ops"][0]["op"], "mm");
  EXPECT_EQ(result["ops"][0]["calls"][0]["call"], "mm(ab bc)");
  EXPECT_GT(result["ops"][0]["calls"][0]["rules"][0]["trials"], 0);
}

TEST(ValidateCommand, NamesThePackageThatJudgesRulesOfPython) {
  expect_refused("validate --python rules.py", "python -m simmesh validate --python rules.py");
}

TEST(ValidateCommand, JudgesTables) {
  TemporaryFolder folder;
  std::string file = folder.path() / "tables.jsonl";
  std::ofstream(file)
      << R"~({"kind":"rules","id":"a/1","source":"pytorch 2.15.0","op":"aten.fill_.Scalar",)~"
      << R"~("mesh":{"shape":[2]},"inputs":[{"shape":[4,6],"dtype":"float32"}],)~"
      << R"~("args":[{"input":0},2.0],"rows":[[["S(0)"],["S(0)"]],[["P(sum)"],["P(sum)"]]]})~"
      << "\n";
  auto run = run_program("validate --rules " + file);
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.output.rfind("FAIL a/1 aten.fill_.Scalar: 1 of 2 rules confirmed", 0), 0u)
      << run.output;
  EXPECT_NE(run.output.find("reproduce: simmesh validate --rules " + file), std::string::npos);
  EXPECT_EQ(run.last_line(), "2 rules, 1 wrong, 0 missing");
  EXPECT_NE(run_program("validate --beyond " + file).output.find("  beyond S(1) -> S(1)"),
            std::string::npos);
  auto result = nlohmann::json::parse(run_program("validate --json --rules " + file).output);
  EXPECT_EQ(result["tables"][0]["wrong"][0]["rule"], "P(sum) -> P(sum)");
}

TEST(ValidateCommand, RefusesWhatItCantRun) {
  expect_refused("validate ad", "expected the name of an op, got 'ad'");
  expect_refused("validate mm --jobs 0", "jobs");
  expect_refused("validate --rules no_such_file.jsonl", "no_such_file.jsonl");
  expect_refused("validate mm --coverage", "expected --coverage without ops");
  expect_refused("validate mm --rules a.jsonl", "expected either tables of rules or ops of ours");
  TemporaryFolder folder;
  std::string file = folder.path() / "tables.jsonl";
  std::ofstream(file) << R"~({"kind":"plan","id":"a/1"})~"
                      << "\n";
  expect_refused("validate --rules " + file, "expected cases of kind rules");
}

// If the page and the program differed, a reader would plan with placements that an op doesn't
// keep.
TEST(ValidateCommand, ThePageOfOperatorsIsWhatItPrints) {
  std::ifstream page(SIMMESH_SOURCE_DIR "/docs/operators.md");
  std::string text((std::istreambuf_iterator<char>(page)), std::istreambuf_iterator<char>());
  auto run = run_program("validate --coverage");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output, text) << "write it anew: simmesh validate --coverage > docs/operators.md";
}

}  // namespace
}  // namespace simmesh
