#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <vector>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

// Runs all shards of a command, and returns the paths of their files, the last shard first.
std::vector<std::string> run_shards(const TemporaryFolder& folder, const std::string& command,
                                    int count) {
  std::vector<std::string> files;
  for (int index = count; index > 0; --index) {
    std::string file = folder.path() / std::to_string(index);
    run_program(fmt::format("{} --shard {}/{} --results {}", command, index, count, file));
    files.push_back(file);
  }
  return files;
}

std::string merge_of(const std::vector<std::string>& files) {
  std::string command = "merge";
  for (const std::string& file : files) command += " " + file;
  return command;
}

void expect_as_one_run(const std::string& command, int count) {
  TemporaryFolder folder;
  std::string merge = merge_of(run_shards(folder, command, count));
  for (const char* output : {"", " --json", " --quiet"}) {
    auto whole = run_program(command + output);
    auto merged = run_program(merge + output);
    EXPECT_EQ(merged.output, whole.output) << command << output;
    EXPECT_EQ(merged.status, whole.status) << command << output;
  }
}

const std::string formula_cases = SIMMESH_SOURCE_DIR "/tests/cases/pytorch/formula.jsonl";

// If this fails, a verdict depends on the number of processes.
TEST(MergeCommand, PrintsWhatOneRunPrints) {
  const std::string gates = SIMMESH_SOURCE_DIR "/examples/gates/";
  for (int count : {1, 3, 50}) expect_as_one_run("verify " + formula_cases, count);
  expect_as_one_run("run " + gates + "fsdp.toml " + gates + "zero3.toml " + gates + "mlp.toml", 3);
  expect_as_one_run("validate mm add sum --seed 3", 2);
}

// If this fails, a race is found or not by the number of processes, or its schedule is lost.
TEST(MergeCommand, PrintsTheExplorationOfOneRun) {
  TemporaryFolder folder;
  const std::string mesh = "[mesh]\nshape = [3]\n[parallel]\nreplicate = {}\n";
  std::string good = folder.write("good.toml", mesh);
  std::string bad = folder.write("bad.toml", mesh + "[expect]\nhash = \"0000000000000000\"\n");
  std::string schedule = folder.path() / "failing";
  expect_as_one_run("explore " + good + " --no-certificate --schedules 70", 3);
  expect_as_one_run("explore " + good + " --faults all --schedules 70", 3);
  expect_as_one_run("explore " + good + " " + bad + " --no-certificate --schedules 70", 3);
  expect_as_one_run("explore " + bad + " --schedules 70 --output " + schedule, 2);
  EXPECT_NE(folder.read("failing"), "");
}

// A layout that fails is explained by a smaller one of another shard.
TEST(MergeCommand, PrintsTheLayoutsOfOneRun) {
  TemporaryFolder folder;
  std::string file = folder.write(
      "m.toml", "[model]\nwidth = 4\nhidden = 6\nout = 3\n[data]\nbatch = 8\n[train]\nsteps = 2\n");
  expect_as_one_run("compose " + file + " --ranks 2..4", 3);
  expect_as_one_run("compose " + file + " --ranks 2..4 --inject fsdp=2 --inject zero3=0.5", 4);
  std::string other = folder.write("n.toml", "[model]\nwidth = 4\n[data]\nbatch = 8\n");
  std::string first = folder.path() / "1", second = folder.path() / "2";
  run_program("compose " + file + " --ranks 2 --shard 1/2 --results " + first);
  run_program("compose " + other + " --ranks 2 --shard 2/2 --results " + second);
  expect_refused("merge " + first + " " + second, "expected the arguments of ");
  std::string broken = folder.read("1");
  broken.replace(broken.find("\"peak_bytes\":"), 13, "\"peak_bytes\":\"x\",\"y\":");
  folder.write("1", broken);
  run_program("compose " + file + " --ranks 2 --shard 2/2 --results " + second);
  expect_refused("merge " + first + " " + second,
                 "expected a result with a value under 'peak_bytes', got ");
}

TEST(MergeCommand, FailuresComeInTheirOrder) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 7; ++i)
    text += R"({"kind":"mesh","id":")" + std::to_string(i) + R"(","source":"test")" +
            R"(,"mesh":{"shape":[1]},"how":"init","world":1,"ops":[],)" +
            R"("result":{"shape":[1],"names":null,"ranks":[{"coordinate":[)" +
            std::to_string(i % 2) + R"(],"mesh":[0],"groups":[[0]],"local_rank":[0]}]}})" + "\n";
  std::string file = folder.write("c.jsonl", text);
  expect_as_one_run("verify " + file, 3);
  expect_as_one_run("verify --fail-fast " + file, 3);
}

// If this fails, a part of the work is taken for all of it.
TEST(MergeCommand, RefusesWhatIsNotAllShardsOfOneRun) {
  TemporaryFolder folder;
  std::vector<std::string> files = run_shards(folder, "verify " + formula_cases, 3);
  std::string some = files[0] + " " + files[2];
  expect_refused("merge " + some, "expected the files of 3 shards, got none of 2/3");
  expect_refused("merge " + some + " " + files[0], "got 3/3 again");
  std::string other = folder.path() / "other";
  run_program("verify --limit 40 " + formula_cases + " --shard 2/3 --results " + other);
  expect_refused("merge " + some + " " + other, "expected the arguments of ");
  run_program("validate mm --shard 2/3 --results " + other);
  expect_refused("merge " + some + " " + other, "expected the command of " + files[0]);
  expect_refused("merge " + folder.write("x", "garbage\n"), "x:1: expected a line of JSON");
  std::string museum =
      R"({"format":"simmesh shard 1","command":"museum","asked":"",)"
      R"("inputs":"0000000000000000","revision":"r","shard":"1/1","jobs":0,"about":null})";
  expect_refused("merge " + folder.write("m", museum + "\n"), "python -m simmesh merge FILE...");
  expect_refused("merge " + (folder.path() / "none").string(), "expected a file of results");
}

TEST(MergeCommand, ShardsAreCheckedBeforeTheWork) {
  expect_refused("verify " + formula_cases + " --shard 4/3", "expected a shard such as 1/8");
  expect_refused("verify " + formula_cases + " --results r", "expected --shard with --results");
  expect_refused("verify " + formula_cases + " --shard 1/3 --results /none/r", "/none/r");
  expect_refused("validate --coverage --shard 1/3", "expected --shard for ops of ours");
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// If this fails, a user copies an example that a shell refuses.
TEST(MergeCommand, ExamplesRun) {
  const std::filesystem::path examples = SIMMESH_SOURCE_DIR "/examples/shards";
  TemporaryFolder folder;
  std::filesystem::create_symlink(SIMMESH_PROGRAM, folder.path() / "simmesh");
  std::string path = "PATH=" + folder.path().string() + ":$PATH ";
  for (int index = 1; index <= 8; ++index) {
    std::string script = (examples / "slurm_array.sh").string();
    auto run =
        run_program(fmt::format("-c '{}SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_ID={} {} {}'",
                                path, index, script, formula_cases),
                    folder.path(), "bash");
    EXPECT_EQ(run.status, 0) << run.output;
  }
  EXPECT_EQ(run_program("-c '" + path + "simmesh merge verify.*-of-8.jsonl'", folder.path(), "bash")
                .last_line(),
            "41 passed, 0 failed");
  EXPECT_EQ(run_program("-n " + (examples / "gnu_parallel.sh").string(), ".", "bash").status, 0);
  std::string workflow = text_of(examples / "github_matrix.yml");
  std::size_t lines = 0;
  for (std::size_t at = workflow.find("- run: simmesh "); at != workflow.npos; ++lines) {
    std::string line = workflow.substr(at + 7, workflow.find('\n', at) - at - 7);
    for (const char* variable : {"${{ matrix.shard }}"})
      while (line.find(variable) != line.npos)
        line.replace(line.find(variable), std::string(variable).size(), "1");
    EXPECT_EQ(run_program("-n -c '" + line + "'", ".", "bash").status, 0) << line;
    EXPECT_EQ(run_program(line.substr(8, line.find(' ', 8) - 8) + " --help").status, 0) << line;
    at = workflow.find("- run: simmesh ", at + 1);
  }
  EXPECT_EQ(lines, 2u);
}

}  // namespace
}  // namespace simmesh
