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
  auto run = run_program("explore " + file + " --schedules 30");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.last_line().rfind("30 schedules, ", 0), 0u) << run.output;
  EXPECT_EQ(run_program("explore --quiet --schedules 30 " + file).output, run.last_line() + "\n");
  auto json = nlohmann::json::parse(run_program("explore --json --exhaustive " + file).output);
  EXPECT_EQ(json["schedules"], 1);
  EXPECT_NE(run.last_line().find(json["data_hash"].get<std::string>()), std::string::npos);
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
}

TEST(ExploreCommand, RefusesInOneLine) {
  expect_refused("explore", "GATE is required");
  expect_refused("explore /no/such.toml", "can't be read");
  expect_refused("explore " SIMMESH_SOURCE_DIR "/examples/gates/mlp.toml --schedules 0",
                 "--schedules");
}

}  // namespace
}  // namespace simmesh
