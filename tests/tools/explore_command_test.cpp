#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

const std::string replicated = "[mesh]\nshape = [3]\n[parallel]\nreplicate = {}\n";

TEST(ExploreCommand, CountsSchedules) {
  TemporaryFolder folder;
  std::string file = folder.write("g.toml", replicated);
  auto run = run_program("explore --no-certificate " + file + " --schedules 30");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.last_line().rfind("30 schedules, ", 0), 0u) << run.output;
  EXPECT_EQ(run_program("explore --quiet --no-certificate --schedules 30 " + file).output,
            run.last_line() + "\n");
  auto json = nlohmann::json::parse(run_program("explore --json --exhaustive " + file).output);
  EXPECT_EQ(json["schedules"], 1);
  EXPECT_NE(run.last_line().find(json["data_hash"].get<std::string>()), std::string::npos);
}

// If this fails, what is printed depends on the jobs, or the shards of an exploration can't be put
// together to the whole.
TEST(ExploreCommand, ShardsAreMergedToOneReport) {
  TemporaryFolder folder;
  std::string file = folder.write("g.toml", replicated);
  std::string merge = "explore --exhaustive " + file + " --merge";
  for (int shard = 1; shard <= 8; ++shard) {
    std::string state = (folder.path() / std::to_string(shard)).string();
    auto run = run_program(
        fmt::format("explore --exhaustive {} --shard {}/8 --state {}", file, shard, state));
    EXPECT_EQ(run.status, 0) << run.output;
    merge += " " + state;
  }
  std::string expected = run_program("explore --exhaustive " + file).output;
  EXPECT_EQ(run_program(merge).output, expected);
  for (const char* jobs : {"2", "4"})
    EXPECT_EQ(run_program("explore --exhaustive " + file + " --jobs " + jobs).output, expected);
  expect_refused("explore --exhaustive " + file + " --merge " + (folder.path() / "1").string(),
                 "expected all 8 shards");
  expect_refused("explore --exhaustive --shard 1/2 --results r " + file, "expected --state");
  expect_refused("explore --shard 1/2 --state s " + file, "expected --results");
  expect_refused("explore --shard 1/2 --report r.html " + file, "expected no page");
  expect_refused("explore --shard 1/2 --trace t.json " + file, "expected no trace");
  expect_refused("explore --exhaustive --shard 3/2 " + file, "expected a shard");
}

// If this fails, several gates have no summary, or a night doesn't go on from its file.
TEST(ExploreCommand, SeveralGatesHaveOneSummary) {
  TemporaryFolder folder;
  std::string files = folder.write("a.toml", replicated) + " " + folder.write("b.toml", replicated);
  std::string state = " --state " + (folder.path() / "night").string();
  auto run = run_program("explore " + files + " --faults kill --schedules 20" + state);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.last_line().rfind("2 gates, 40 runs with faults, ", 0), 0u) << run.output;
  EXPECT_EQ(run_program("explore " + files + " --faults kill --schedules 20 --jobs 2").output,
            run.output);
  run = run_program("explore --quiet " + files + " --faults kill --schedules 30" + state);
  EXPECT_EQ(run.last_line().rfind("2 gates, 60 runs with faults, ", 0), 0u) << run.output;
  expect_refused("explore " + files + " --faults all" + state, "got one of others");
  expect_refused("explore --exhaustive " + files, "expected one gate with --exhaustive");
}

// With the written schedule, `simmesh run` must fail in the same way.
TEST(ExploreCommand, AFailureCanBeReplayed) {
  TemporaryFolder folder;
  std::string file = folder.write("g.toml", replicated + "[expect]\nhash = \"0000000000000000\"\n");
  std::string schedule = (folder.path() / "failing").string();
  auto run = run_program("explore " + file + " --output " + schedule);
  EXPECT_EQ(run.status, 1);
  std::string again = "run " + file + " --schedule replay:" + schedule;
  EXPECT_NE(run.output.find("reproduce: simmesh " + again + "\n"), std::string::npos) << run.output;
  EXPECT_EQ(run_program(again).last_line(), "2 passed, 1 failed");
  expect_refused("explore " + file + " --output /no/such/folder/x", "can't be written to");
  auto options = run_program("explore " + file + " --timeout 0.5 --threads 2 --output " + schedule);
  EXPECT_NE(options.output.find(again + " --threads 2 --timeout 0.5\n"), std::string::npos)
      << options.output;
}

// If this fails, a search of hours is lost because the folder isn't writable.
TEST(ExploreCommand, PrintsItsResultBeforeItWritesFiles) {
  TemporaryFolder folder;
  std::string file = folder.write("g.toml", replicated + "[expect]\nhash = \"0000000000000000\"\n");
  folder.write("g.schedule/in_the_way", "");
  auto run = run_program("explore " + file, folder.path().string());
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.output.find("\nFAIL expected data hash 0000000000000000"), run.output.npos);
  EXPECT_NE(run.output.find(" schedule, 1 distinct"), run.output.npos) << run.output;
  EXPECT_NE(run.last_line().find("'g.schedule' can't be written to"), run.output.npos);
}

TEST(ExploreCommand, TracesTheFailingRun) {
  TemporaryFolder folder;
  folder.write("g.toml", replicated + "[expect]\nhash = \"0000000000000000\"\n");
  folder.write("good.toml", replicated);
  run_program("explore g.toml --trace t.json", folder.path().string());
  auto failing = nlohmann::json::parse(folder.read("t.json"));
  EXPECT_EQ(failing["otherData"]["schedule"].get<std::string>().rfind("choices:", 0), 0u);
  run_program("explore good.toml --schedules 9 --jobs 2 --trace t.json", folder.path().string());
  EXPECT_EQ(nlohmann::json::parse(folder.read("t.json"))["otherData"]["schedule"], "fifo");
}

TEST(ExploreCommand, HelpNamesTheDefaultArithmetic) {
  for (const char* command : {"run", "explore"}) {
    std::string help = run_program(std::string(command) + " --help").output;
    EXPECT_NE(help.find("the gate's own"), help.npos) << help;
  }
  EXPECT_NE(run_program("verify --help").output.find("TEXT=canonical"), std::string::npos);
}

TEST(ExploreCommand, RefusesInOneLine) {
  expect_refused("explore", "GATE is required");
  expect_refused("explore /no/such.toml", "can't be read");
  expect_refused("explore " SIMMESH_SOURCE_DIR "/examples/gates/mlp.toml --schedules 0",
                 "--schedules");
}

}  // namespace
}  // namespace simmesh
