#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;

const std::string formulas = "verify " SIMMESH_SOURCE_DIR "/tests/cases/pytorch/formula.jsonl";
const std::string wrong =
    R"({"kind":"formula","id":"w","tensor":{"shape":[1],"dtype":"int64","rule":"wide","seed":1},)"
    R"("h":["5e41ab087439611e"],"bits":["ffffffffffde41ab"],"hash":"0000000000000000"})";

TEST(VerifyCommand, PassesRecordedCases) {
  auto run = run_program(formulas);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.last_line(), "41 passed, 0 failed");
  EXPECT_EQ(run_program(formulas + " --quiet").output, "41 passed, 0 failed\n");
  auto json = nlohmann::json::parse(run_program(formulas + " --json").output);
  EXPECT_EQ(json["passed"], 41);
}

// A failed case ends the command with status 1, and the report names the difference and how to
// reproduce it.
TEST(VerifyCommand, FailsWithStatusOne) {
  testing::TemporaryFolder folder;
  std::string file = folder.write("wrong.jsonl", wrong + "\n" + wrong + "\n");
  auto run = run_program("verify " + file + " --seed 5");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.last_line(), "0 passed, 2 failed");
  EXPECT_NE(run.output.find("FAIL w: hash: expected 0000000000000000"), run.output.npos);
  EXPECT_NE(run.output.find("reproduce: simmesh verify " + file + " --id w --seed 5\n"),
            run.output.npos);
  EXPECT_EQ(run_program("verify --fail-fast " + file).last_line(), "0 passed, 1 failed");
  auto json = run_program("verify --json " + file);
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(nlohmann::json::parse(json.output)["failures"][1]["line"], 2);
}

TEST(VerifyCommand, ChoosesCases) {
  EXPECT_EQ(run_program(formulas + " --limit 3").last_line(), "3 passed, 0 failed");
  EXPECT_EQ(run_program(formulas + " --id 'formula/0?/*'").last_line(), "10 passed, 0 failed");
  EXPECT_EQ(run_program(formulas + " --kind mesh").last_line(), "0 passed, 0 failed");
  EXPECT_EQ(run_program(formulas + " --exclude-kind formula").last_line(), "0 passed, 0 failed");
  EXPECT_EQ(run_program(formulas + " --where 'tensor.seed=1000'").last_line(),
            "1 passed, 0 failed");
}

// If this fails, a misspelt id looks like a case that holds.
TEST(VerifyCommand, AnIdThatNoCaseHasIsAnError) {
  expect_refused(formulas + " --id nothing", "expected a case with an id like 'nothing', got none");
}

// Schedules and threads change the interleaving but not the data.
TEST(VerifyCommand, DataHashIsThatOfEverySchedule) {
  const std::string cases =
      "verify --json --limit 400 " SIMMESH_SOURCE_DIR "/tests/cases/pytorch/redistribute.jsonl";
  auto fifo = nlohmann::json::parse(run_program(cases).output);
  for (const char* options : {" --schedule seeded:1", " --schedule pct:3 --threads 2"}) {
    auto other = nlohmann::json::parse(run_program(cases + options).output);
    EXPECT_EQ(other["data_hash"], fifo["data_hash"]) << options;
    EXPECT_NE(other["schedule_hash"], fifo["schedule_hash"]) << options;
  }
}

// The page lists the contents of files; a field that is added without it would be known to nobody.
TEST(VerifyCommand, PrintsThePageOfFields) {
  std::ifstream page(SIMMESH_SOURCE_DIR "/docs/case_fields.md");
  std::string text(std::istreambuf_iterator<char>(page), {});
  auto run = run_program("verify --fields");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output, text) << "write it anew: simmesh verify --fields > docs/case_fields.md";
}

// A kind counts though nothing but its own file names it.
TEST(VerifyCommand, KnowsTheKindsOfAllFolders) {
  std::string page = run_program("verify --fields").output;
  for (const char* kind : {"collective", "formula", "grad", "local_shape", "mesh", "plan",
                           "redistribute", "fsdp_counts", "fsdp_errors", "fsdp_events",
                           "fsdp_layout", "fsdp_state_dict", "train", "train_exact", "zero_train"})
    EXPECT_NE(page.find(std::string("\n## ") + kind + "\n"), page.npos) << kind;
}

TEST(VerifyCommand, RefusesInOneLine) {
  testing::TemporaryFolder folder;
  expect_refused("verify " + folder.write("bad.jsonl", "{\n"), "bad.jsonl:1");
  expect_refused("verify " + folder.write("type.jsonl", R"({"kind":"formula","id":"x"})"),
                 "type.jsonl:1");
  expect_refused("verify " + (folder.path() / "none").string(), "expected a file or a folder");
  expect_refused(formulas + " --schedule sometimes", "sometimes");
  expect_refused(formulas + " --arithmetic sloppy", "sloppy");
  expect_refused(formulas + " --threads 0", "--threads");
  expect_refused(formulas + " --limit -1", "--limit");
  expect_refused(formulas + " --where seed", "FIELD=JSON");
  expect_refused("verify", "PATH");
}

}  // namespace
}  // namespace simmesh
