#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

const std::string mlp =
    "[model]\nwidth = 4\nhidden = 6\nout = 3\n[data]\nbatch = 8\n[train]\nsteps = 2\n";

TEST(ComposeCommand, PrintsALineForEachLayout) {
  TemporaryFolder folder;
  std::string file = folder.write("m.toml", mlp);
  auto run = run_program("compose " + file + " --ranks 2..4");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_NE(run.output.find("pass     4 ranks  hsdp=2x2 "), run.output.npos) << run.output;
  EXPECT_EQ(run.last_line(), "20 passed, 0 failed");
  EXPECT_EQ(run_program("compose --jobs 3 --ranks 2..4 " + file).output, run.output);
  EXPECT_EQ(run_program("compose --quiet --ranks 2..4 " + file).output, run.last_line() + "\n");
  EXPECT_EQ(run_program("compose --list --ranks 2 " + file).output,
            "replicate=2\nfsdp=2\nzero1=2\nzero2=2\nzero3=2\npipeline=2:GPipe\n");
}

// If this fails, a sample runs other layouts than it lists, or all of them.
TEST(ComposeCommand, RunsASampleOfTheLayouts) {
  TemporaryFolder folder;
  std::string file = folder.write("m.toml", mlp);
  std::string command = "compose " + file + " --ranks 2 --sample 3";
  EXPECT_EQ(run_program(command + " --list").output, "replicate=2\nzero1=2\nzero3=2\n");
  auto run = run_program(command);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.last_line(), "3 passed, 0 failed");
  EXPECT_NE(run.output.find("2 ranks  zero3=2 "), run.output.npos) << run.output;
  EXPECT_EQ(run.output.find("fsdp=2 "), run.output.npos) << run.output;
  EXPECT_EQ(run_program("compose " + file + " --ranks 2 --sample 100").last_line(),
            "6 passed, 0 failed");
}

// If this fails, nobody learns which layout to look at.
TEST(ComposeCommand, AFaultIsNamedWithItsSmallestLayout) {
  TemporaryFolder folder;
  std::string file = folder.write("m.toml", mlp), page = (folder.path() / "p.html").string();
  std::string fault = " --inject fsdp=2";
  auto run = run_program("compose " + file + " --ranks 2..3" + fault + " --html " + page);
  EXPECT_EQ(run.status, 1);
  std::string again = "compose " + file + " --layout fsdp=2" + fault;
  EXPECT_NE(run.output.find("reproduce: simmesh " + again + "\n"), run.output.npos) << run.output;
  EXPECT_EQ(run_program(again).last_line(), "0 passed, 1 failed");
  EXPECT_NE(folder.read("p.html").find("fsdp=2, which stands for 2"), std::string::npos);
  auto json =
      nlohmann::json::parse(run_program("compose --json --ranks 2..3 " + file + fault).output);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["smallest"][0], "fsdp=2");
}

TEST(ComposeCommand, RefusesWhatItCannotRun) {
  TemporaryFolder folder;
  std::string file = folder.write("m.toml", mlp);
  for (const char* ranks : {"0", "4..2", "x", "2..", "2..5000"})
    expect_refused("compose " + file + " --ranks " + ranks, "--ranks: expected a number from 1");
  expect_refused("compose " + file + " --only fspd", "expected some of replicate, fsdp");
  for (const char* sample : {"0", "-1", "x"})
    expect_refused(
        "compose " + file + " --sample " + sample,
        "--sample: expected a whole number from 1 to 1000000, got " + std::string(sample));
  expect_refused("compose " + file + " --inject fsdp", "expected forms and a factor");
  expect_refused("compose " + file + " --layout tensor=2", "a model with attention");
  expect_refused("compose " + file + " --html /no/such/folder/x.html", "can't be written to");
  expect_refused("compose " + file + " --trace t.json", "expected a single run");
  expect_refused("compose nowhere.toml", "nowhere.toml");
}

}  // namespace
}  // namespace simmesh
