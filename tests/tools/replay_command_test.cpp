#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

const std::string trace_cases = SIMMESH_SOURCE_DIR "/tests/cases/replay/";
const std::string dlrm =
    "replay " + trace_cases + "dlrm_pytorch_et.tar.gz " + trace_cases + "dlrm_kineto.tar.gz";

TEST(ReplayCommand, ValidatesReplaysAndAnalysesAJob) {
  auto run = run_program(dlrm + " --schedules 3 --jobs 2 --what-if bandwidth=2,perfect_arrival");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.last_line(), "14 passed, 0 failed");
  EXPECT_NE(run.output.find("waiting is 96.4% of all communication"), run.output.npos);
  EXPECT_NE(run.output.find("bandwidth=2,perfect_arrival"), run.output.npos);
  EXPECT_EQ(run_program(dlrm + " --schedules 3 --quiet").output, "14 passed, 0 failed\n");
}

TEST(ReplayCommand, PrintsTheSameAsJson) {
  auto run = run_program(dlrm + " --json");
  EXPECT_EQ(run.status, 0);
  auto report = nlohmann::json::parse(run.output);
  EXPECT_EQ(report["replay"]["communications"], 64);
  EXPECT_EQ(report["times"]["collectives"][3]["last_rank"], 7);
  EXPECT_EQ(report["passed"], 13);
}

TEST(ReplayCommand, AFaultEndsWithTheLineThatShowsItAgain) {
  auto run = run_program("replay " + trace_cases + "trace_bad/split_sum --seed 7");
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.output.find("error split_sum: rank 0 node 4"), run.output.npos) << run.output;
  EXPECT_NE(run.output.find("reproduce: simmesh replay " + trace_cases +
                            "trace_bad/split_sum --seed 7\n"),
            run.output.npos)
      << run.output;
  EXPECT_EQ(run.last_line(), "5 passed, 1 failed");
}

TEST(ReplayCommand, ReplaysWhatIsAskedFor) {
  const std::string comms = "replay " + trace_cases + "generated/comms4 --json";
  auto count = [](const std::string& arguments) {
    auto run = run_program(arguments);
    EXPECT_EQ(run.status, 0) << run.output;
    return nlohmann::json::parse(run.output)["replay"]["communications"].get<int>();
  };
  int all = count(comms);
  EXPECT_GT(all, count(comms + " --steps 1"));
  EXPECT_GT(count(comms + " --steps 1"), count(comms + " --steps 1 --ops all_reduce,barrier"));
  EXPECT_EQ(all, count(comms + " --payload wide --allocation pre --iterations 2 --warm-up 1"));
  EXPECT_EQ(run_program("replay " + trace_cases + "generated/comms4 --only-checks --quiet").output,
            "6 passed, 0 failed\n");
}

// Would fail if a full disk cost the result with the trace, or looked like success.
TEST(ReplayCommand, PrintsTheResultWhereTheTraceIsLost) {
  auto run = run_program("replay " + trace_cases + "generated/comms4 --quiet --trace /dev/full");
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.output.find("8 passed, 0 failed\n"), 0u) << run.output;
  EXPECT_NE(run.last_line().find("'/dev/full' can't be written to: No space left on device"),
            run.output.npos)
      << run.output;
}

// Would fail if a file that is no trace failed a job, or wasn't counted.
TEST(ReplayCommand, CountsWhatItLeavesOut) {
  TemporaryFolder folder;
  std::filesystem::copy(trace_cases + "generated/comms4", folder.path() / "job",
                        std::filesystem::copy_options::recursive);
  folder.write("job/args.json", R"({"lr": 0.1})");
  auto run = run_program("replay " + (folder.path() / "job").string() + " --only-checks");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_NE(run.output.find("1 file that is no trace is left out: "), run.output.npos);
}

// Would fail if a graph of Chakra couldn't be replayed, or a conversion lost a communication.
TEST(ReplayCommand, ConvertsTracesToGraphsAndBack) {
  TemporaryFolder folder;
  std::string graphs = (folder.path() / "graphs").string();
  std::string traces = (folder.path() / "traces").string();
  EXPECT_EQ(
      run_program("replay " + trace_cases + "generated/comms4 --only-checks --chakra " + graphs)
          .status,
      0);
  auto data_hash = [](const std::string& path, const std::string& more = "") {
    auto run = run_program("replay " + path + " --json" + more);
    EXPECT_EQ(run.status, 0) << run.output;
    return nlohmann::json::parse(run.output)["replay"]["data_hash"].get<std::string>();
  };
  std::string expected = data_hash(trace_cases + "generated/comms4");
  EXPECT_EQ(data_hash(graphs, " --execution-trace " + traces), expected);
  EXPECT_EQ(data_hash(traces), expected);
}

TEST(ReplayCommand, WritesAPage) {
  TemporaryFolder folder;
  std::string page = (folder.path() / "job.html").string();
  EXPECT_EQ(run_program(dlrm + " --html " + page).status, 0);
  EXPECT_EQ(folder.read("job.html").rfind("<!DOCTYPE html>", 0), 0u);
}

TEST(ReplayCommand, RefusesWhatItCannotUse) {
  TemporaryFolder folder;
  expect_refused("replay " + trace_cases + "nowhere", "got nothing there");
  expect_refused("replay " + folder.path().string(), "expected traces, got none");
  expect_refused(dlrm + " --what-if faster=2", "got 'faster=2'");
  expect_refused(dlrm + " --what-if bandwidth=0", "expected a factor above 0");
  expect_refused(dlrm + " --ops sum", "--ops: expected names such as all_reduce");
  expect_refused(dlrm + " --steps 4", "step 4 was asked for");
  expect_refused(dlrm + " --allocation never", "--allocation: expected pre or lazy");
  expect_refused(dlrm + " --html page.txt", "ends in .html");
  expect_refused(dlrm + " --html " + folder.path().string() + "/none/page.html", "page.html");
}

}  // namespace
}  // namespace simmesh
