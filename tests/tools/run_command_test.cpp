#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

const std::string gates = SIMMESH_SOURCE_DIR "/examples/gates";
const std::string replicated_on_four = "[mesh]\nshape = [4]\n[parallel]\nreplicate = {}\n";
const std::string checked = replicated_on_four + "[expect]\nschedules = 2\n";

// The default gates, which `./dev run` runs, must pass.
TEST(RunCommand, TheDefaultGatesPass) {
  auto run = run_program("run " + gates + "/*.toml");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run_program("run --jobs 3 " + gates + "/*.toml").output, run.output);
  EXPECT_NE(run.last_line().find(" passed, 0 failed"), std::string::npos) << run.output;
}

TEST(RunCommand, PrintsTheSameWhateverTheThreads) {
  TemporaryFolder folder;
  std::string file = folder.write("g.toml", checked);
  auto one = run_program("run " + file), again = run_program("run --jobs 2 " + file);
  EXPECT_EQ(one.status, 0) << one.output;
  EXPECT_EQ(one.output, again.output);
  EXPECT_EQ(one.last_line(), "3 passed, 0 failed");
  EXPECT_EQ(run_program("run --quiet " + file + " " + file).output, "6 passed, 0 failed\n");
  auto json = nlohmann::json::parse(run_program("run --json " + file).output);
  auto other = nlohmann::json::parse(
      run_program("run --json --threads 2 --schedule seeded --seed 4 " + file).output);
  EXPECT_EQ(json["gates"][0]["data_hash"], other["gates"][0]["data_hash"]);
  EXPECT_NE(json["gates"][0]["schedule_hash"], other["gates"][0]["schedule_hash"]);
}

// The output of --explain is a gate whose --explain gives the same output.
TEST(RunCommand, ExplainsAGateAsToml) {
  TemporaryFolder folder;
  auto first = run_program("run --explain " + gates + "/transformer.toml");
  EXPECT_EQ(first.status, 0);
  std::string file = folder.write("again.toml", first.output);
  EXPECT_EQ(run_program("run --explain " + file).output, first.output);
}

TEST(RunCommand, AFailureEndsWithStatusOneAndALineToPaste) {
  TemporaryFolder folder;
  std::string file =
      folder.write("g.toml", replicated_on_four + "[expect]\nhash = \"0000000000000000\"\n");
  auto run = run_program("run --seed 3 --arithmetic exact --timeout 0 " + file);
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.last_line(), "2 passed, 1 failed");
  std::string line =
      "reproduce: simmesh run " + file + " --seed 3 --arithmetic exact --timeout 0\n";
  EXPECT_NE(run.output.find(line), std::string::npos) << run.output;
}

// A gate file without a check would pass whatever happens.
TEST(RunCommand, AGateThatChecksNothingIsRefused) {
  TemporaryFolder folder;
  std::string nothing = folder.write("g.toml", replicated_on_four + "[expect]\nschedules = 1\n");
  expect_refused("run " + nothing, "g.toml:1:1] expected a gate that checks something");
  EXPECT_EQ(run_program("run --explain " + nothing).status, 0);
  // The line that reproduces a failure found by explore runs such a gate.
  std::string choices = folder.write("choices", "0\n");
  EXPECT_EQ(run_program("run " + nothing + " --schedule replay:" + choices).status, 1);
}

// If this fails, the system kills the command, and nobody learns why.
TEST(RunCommand, AGateThatNeedsTooMuchMemoryIsRefused) {
  TemporaryFolder folder;
  std::string huge = folder.write(
      "g.toml",
      "[mesh]\nshape = [4096]\n[model]\nkind = \"linear_stack\"\nlayers = 50\nwidth = 1024\n"
      "[data]\nbatch = 4096\n[parallel]\nreplicate = {}\n[device]\n");
  expect_refused("run " + huge, "g.toml:2:9] key 'mesh.shape': expected a gate that needs at most");
  expect_refused("explore " + huge, "ranks that need about 4");
  std::string shapes = folder.write(
      "s.toml", "[mesh]\nshape = [512]\n[data]\nbatch = 512\n[world]\nshapes_only = true\n");
  EXPECT_EQ(
      run_program("explore --jobs 64 --schedules 1 --quiet " + shapes)
          .output.rfind("simmesh: " + shapes + " needs about 2.0 GiB of memory\n1 schedule, ", 0),
      0u);
}

// If this fails, the trace of the run isn't written, or is that of another run.
TEST(RunCommand, WritesATrace) {
  TemporaryFolder folder;
  std::string plain = folder.write("g.toml", checked), trace = (folder.path() / "t.json").string();
  std::string device = folder.write("d.toml", replicated_on_four + "[device]\n");
  EXPECT_EQ(run_program("run --trace " + trace + " " + plain).status, 0);
  auto events = nlohmann::json::parse(folder.read("t.json"));
  EXPECT_EQ(events["otherData"]["time"], "1 us is a step of the schedule");
  EXPECT_EQ(events["otherData"]["program"], "simmesh run " + plain);
  EXPECT_NE(folder.read("t.json").find("\"arrive all_reduce\""), std::string::npos);
  EXPECT_EQ(run_program("run --trace " + trace + " " + device).status, 0);
  EXPECT_EQ(nlohmann::json::parse(folder.read("t.json"))["otherData"]["time"], "simulated");
  EXPECT_NE(folder.read("t.json").find("\"stream compute\""), std::string::npos);
  std::string wrong = folder.write("choices", "0\n");
  auto failing = run_program("run --trace " + trace + " --schedule replay:" + wrong + " " + plain);
  EXPECT_EQ(failing.status, 1);
  EXPECT_NE(folder.read("t.json").find("ends after 1 choices"), std::string::npos);
  std::string before = folder.read("t.json");
  expect_refused("run --trace " + trace + " " + plain + " " + device,
                 "expected one gate to trace, got 2");
  expect_refused("run --trace /no/such/folder/t.json " + plain, "can't be written to");
  // The result counts more than the trace.
  auto run = run_program("run --quiet --trace /dev/full " + plain);
  EXPECT_EQ(run.status, 2) << run.output;
  EXPECT_NE(run.output.find(" passed, 0 failed\nsimmesh: "), run.output.npos) << run.output;
  EXPECT_NE(run.last_line().find("No space left on device"), run.output.npos) << run.output;
  EXPECT_EQ(folder.read("t.json"), before);
}

// If this fails, the picture isn't written, or shows another model.
// What is recorded of a gate is a job that `simmesh replay` finds nothing wrong with.
TEST(RunCommand, RecordsWhatReplays) {
  TemporaryFolder folder;
  std::string file = folder.write("g.toml", checked);
  std::string traces = (folder.path() / "traces").string();
  std::string graphs = (folder.path() / "graphs").string();
  auto run = run_program("run " + file + " --execution-trace " + traces + " --chakra " + graphs);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.output, run_program("run " + file).output);
  for (const char* rank : {"0", "1", "2", "3"}) {
    EXPECT_FALSE(folder.read(std::string("traces/rank-") + rank + ".json.gz").empty());
    EXPECT_FALSE(folder.read(std::string("graphs/rank-") + rank + ".et").empty());
  }
  auto replay = run_program("replay " + traces);
  EXPECT_EQ(replay.status, 0) << replay.output;
  EXPECT_NE(replay.last_line().find(" passed, 0 failed"), std::string::npos) << replay.output;
}

TEST(RunCommand, RefusesWhatItCanNotRecord) {
  TemporaryFolder folder;
  std::string file = folder.write("g.toml", checked);
  std::string traces = (folder.path() / "traces").string();
  expect_refused("run " + file + " " + file + " --execution-trace " + traces,
                 "expected one gate to record, got 2");
  expect_refused("run " + gates + "/shapes_only.toml --chakra " + traces,
                 "expected a gate in which every rank runs");
  expect_refused("run " + file + " --execution-trace " + file, "expected a folder");
  EXPECT_FALSE(std::filesystem::exists(traces));
}

TEST(RunCommand, DrawsTheScheduleOfStage3) {
  TemporaryFolder folder;
  std::string picture = (folder.path() / "schedule.svg").string();
  std::string gate = gates + "/zero3.toml", into = " --picture " + picture;
  auto run = run_program("run " + gate + into);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.output, run_program("run " + gate).output) << "it changes no result";
  std::string text = folder.read("schedule.svg");
  EXPECT_EQ(text.rfind("<svg", 0), 0u);
  EXPECT_NE(text.find("</svg>"), std::string::npos);
  for (const char* part : {"embed.weight", "block1.mlp.fc2.bias"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(run_program("run --threads 2 --schedule seeded " + gate + into).status, 0);
  EXPECT_EQ(folder.read("schedule.svg"), text) << "a rank's schedule doesn't depend on the World's";
}

TEST(RunCommand, RefusesWhatItCanNotDraw) {
  TemporaryFolder folder;
  std::string plain = folder.write("g.toml", checked);
  std::string picture = (folder.path() / "p.svg").string();
  expect_refused("run --picture " + picture + " " + plain,
                 "--picture: expected a gate with parallel.zero of stage 3, got ");
  expect_refused("run --picture " + picture + " " + gates + "/zero2.toml", "of stage 3, got ");
  expect_refused("run --picture p.png " + gates + "/zero3.toml", "ends in .svg, got 'p.png'");
  expect_refused("run --picture /nowhere/p.svg " + gates + "/zero3.toml", "can't be written to");
  expect_refused("run --picture " + picture + " " + plain + " " + plain,
                 "expected one gate, got 2");
}

TEST(RunCommand, RefusesInOneLine) {
  TemporaryFolder folder;
  std::string good = folder.write("good.toml", checked);
  std::string bad = folder.write("bad.toml", "[model]\nlayer = 3\n");
  // Nothing of the good gate is printed either.
  expect_refused("run " + good + " " + bad,
                 "bad.toml:2:1] expected a known key, got 'model.layer'");
  expect_refused("run", "GATE is required");
  expect_refused("run /no/such.toml", "can't be read");
  expect_refused("run " + folder.path().string(), "can't be read");
  expect_refused("run " + good + " --schedule never", "expected fifo");
  expect_refused("run " + good + " --arithmetic fast", "fast");
  expect_refused("run " + good + " --threads 0", "--threads");
  expect_refused("run " + good + " --jobs 0", "--jobs");
  for (const char* seconds : {"-1", "nan", "inf", "soon", "''"})
    expect_refused("run " + good + " --timeout " + seconds, "--timeout");
  EXPECT_EQ(run_program("run " + good + " --timeout 0.5 --quiet").status, 0);
}

}  // namespace
}  // namespace simmesh
