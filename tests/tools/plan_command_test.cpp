#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

const std::string moves = "plan --mesh 2x4 --shape 16x8 --from 'S(0),R' --to 'R,S(1)'";

TEST(PlanCommand, PrintsStepsAndCost) {
  auto run = run_program(moves);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.rfind("planner: greedy\n", 0), 0u) << run.output;
  EXPECT_NE(run.output.find("S(0)->R on mesh dim 0  all_gather"), run.output.npos);
  EXPECT_EQ(run.last_line().rfind("cost: ", 0), 0u) << run.output;
  EXPECT_EQ(run_program(moves + " --quiet").output, run.last_line() + "\n");
}

TEST(PlanCommand, PrintsBothPlanners) {
  auto run = run_program(moves + " --planner both --json");
  EXPECT_EQ(run.status, 0);
  auto plans = nlohmann::json::parse(run.output)["plans"];
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0]["planner"], "greedy");
  EXPECT_EQ(plans[1]["planner"], "graph");
  EXPECT_EQ(plans[0]["steps"][1]["collective"], "all_gather");
}

// JSON has no infinite number.
TEST(PlanCommand, WritesAnInfiniteCostAsText) {
  auto run = run_program("plan --mesh 2 --shape 4 --from 'S(0)' --to 'P(sum)' --json");
  auto plan = nlohmann::json::parse(run.output)["plans"][0];
  EXPECT_EQ(plan["cost_us"], "inf");
  EXPECT_EQ(plan["steps"][0]["cost_us"], 0.0);
}

// --flattened and --devices-per-host change what is printed.
TEST(PlanCommand, TakesFlattenedMeshesAndHosts) {
  const std::string gather = "plan --mesh 2x4 --shape 16x8 --from 'S(0),S(0)' --to R,R";
  EXPECT_NE(run_program(gather + " --flattened 0x1").output.find("-->R on mesh dims 0+1"),
            std::string::npos);
  EXPECT_NE(run_program(gather + " --devices-per-host 8").last_line(),
            run_program(gather).last_line());
}

// P(avg) -> P(sum) is reduced to a shard first and embedded since 2.15, and was reduced whole
// before.
TEST(PlanCommand, FollowsARelease) {
  const std::string reduce =
      "plan --planner graph --mesh 2x2 --shape 4 --from 'P(avg),R' --to 'P(sum),R'";
  expect_refused(reduce + " --release 2.14", "expected 2.13 or 2.15");
  EXPECT_EQ(run_program(reduce + " --release 2.15").output, run_program(reduce).output);
  EXPECT_NE(run_program(reduce + " --release 2.13").output, run_program(reduce).output);
}

// The whole file is written and nothing is left beside it. A file that can't be written is an
// error.
TEST(PlanCommand, DrawsAPicture) {
  TemporaryFolder folder;
  std::string into = moves + " --picture " + folder.path().string();
  EXPECT_EQ(run_program(into + "/plan.svg").output, run_program(moves).output);
  EXPECT_EQ(folder.read("plan.svg").rfind("<svg xmlns=", 0), 0u);
  EXPECT_EQ(run_program(into + "/plan.txt").status, 0);
  EXPECT_EQ(folder.read("plan.txt").rfind("start: S(0),R\n", 0), 0u);
  expect_refused(moves + " --picture plan.png", "a file that ends in .svg or .txt, got 'plan.png'");
  expect_refused(moves + " --planner both --picture plan.svg", "one planner, got 'both'");
  expect_refused(moves + " --picture /nowhere/plan.svg", "'/nowhere/plan.svg' can't be written to");
}

// The picture of docs/redistribution.md is the one that the command draws.
TEST(PlanCommand, DrawsThePictureOfThePage) {
  TemporaryFolder folder;
  run_program("plan --mesh 2x2 --shape 4x8 --from 'S(0),P(sum)' --to 'R,S(1)' --picture " +
              (folder.path() / "plan.svg").string());
  std::ifstream page(std::string(SIMMESH_SOURCE_DIR) + "/docs/pictures/plan.svg");
  EXPECT_EQ(folder.read("plan.svg"), std::string(std::istreambuf_iterator<char>(page), {}));
}

TEST(PlanCommand, RefusesWhatMakesNoSense) {
  expect_refused("plan --mesh 2 --shape 4 --from R", "--to is required");
  expect_refused("plan --mesh 2y --shape 4 --from R --to R", "--mesh: expected sizes such as 2x4");
  expect_refused("plan --mesh 2x --shape 4 --from R --to R", "--mesh: expected sizes");
  expect_refused("plan --mesh 2 --shape 4 --from Q --to R", "Q");
  expect_refused("plan --mesh 2 --shape 4 --from 'S(3)' --to R", "3");
  expect_refused("plan --mesh 2 --shape 4 --from 'R,R' --to R", "one placement a mesh dim");
  expect_refused("plan --mesh 2 --shape 4 --from 'S(0)' --to 'P(max)'", "not supported yet");
  expect_refused("plan --mesh 2 --shape 4 --from R --to R --planner best", "got 'best'");
  expect_refused("plan --mesh 2 --shape 4 --dtype float8 --from R --to R", "float8");
  expect_refused("plan --mesh 0 --shape 4 --from R --to R", "");
  const std::string max = "9223372036854775807";
  expect_refused("plan --mesh " + max + " --shape 4 --from 'S(0)' --to R --planner graph",
                 "a mesh of at most 1048576 ranks");
  expect_refused("plan --mesh 3x2 --shape " + max + " --from 'P(sum),R' --to '_S(0,2),P(sum)'",
                 "a tensor of at most 4398046511104 bytes");
  expect_refused("plan --mesh 2 --shape 9999999999x9999999999 --from R --to R", "");
}

}  // namespace
}  // namespace simmesh
