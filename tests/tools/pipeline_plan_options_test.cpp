#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;
using testing::TemporaryFolder;

const std::string zbv = "plan --pipeline ZBVZeroBubble --ranks 2 --microbatches 4";

// If this fails, the command shows another schedule than the one that is asked for.
TEST(PipelinePlanOptions, PrintsOrdersPeaksAndTheBubble) {
  auto run = run_program("plan --pipeline 1f1b --ranks 2 --microbatches 3");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output,
            "1F1B: 2 ranks, 1 stage a rank, 3 micro-batches\n"
            "rank 0: stages 0; peak activations 2; idle 3 of 12\n"
            "  0F0,0F1,0B0,0F2,0B1,0B2,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n"
            "rank 1: stages 1; peak activations 1; idle 3 of 12\n"
            "  1F0,1B0,1F1,1B1,1F2,1B2,1REDUCE_GRAD,1WAIT_REDUCE_GRAD\n"
            "bubble: 25.0 % of 12 time units\n");
  EXPECT_EQ(run_program("plan --pipeline 1F1B --ranks 2 --microbatches 3 --quiet").output,
            "bubble: 25.0 % of 12 time units\n");
}

// If this fails, two stages a rank aren't the default where one would be refused.
TEST(PipelinePlanOptions, TakesStagesAndShowsAllActions) {
  EXPECT_NE(run_program(zbv).output.find("rank 1: stages 1, 2; peak activations 4;"),
            std::string::npos);
  EXPECT_NE(run_program(zbv + " --all-actions").output.find("1UNSHARD,2UNSHARD,1RECV_F0,1F0"),
            std::string::npos);
  auto run = run_program(
      "plan --pipeline LoopedBFS --ranks 2 --microbatches 2 --stages-per-rank 3 --json");
  auto plan = nlohmann::json::parse(run.output);
  EXPECT_EQ(plan["schedule"], "LoopedBFS");
  EXPECT_EQ(plan["ranks"][1]["stages"], (nlohmann::json{1, 3, 5}));
  EXPECT_EQ(plan["ranks"][0]["peak_activations"], 6);
  EXPECT_GT(plan["bubble"], 0.0);
}

TEST(PipelinePlanOptions, DrawsAPicture) {
  TemporaryFolder folder;
  std::string into = zbv + " --picture " + folder.path().string();
  EXPECT_EQ(run_program(into + "/zbv.svg").output, run_program(zbv).output);
  EXPECT_EQ(folder.read("zbv.svg").rfind("<svg xmlns=", 0), 0u);
  expect_refused(into + "/zbv.txt", "a file that ends in .svg");
}

// The picture of docs/pipeline.md is the one that the command draws.
TEST(PipelinePlanOptions, DrawsThePictureOfThePage) {
  TemporaryFolder folder;
  run_program(zbv + " --picture " + (folder.path() / "zbv.svg").string());
  std::ifstream page(std::string(SIMMESH_SOURCE_DIR) + "/docs/pictures/pipeline.svg");
  EXPECT_EQ(folder.read("zbv.svg"), std::string(std::istreambuf_iterator<char>(page), {}));
}

TEST(PipelinePlanOptions, RefusesWhatMakesNoSense) {
  expect_refused("plan --pipeline 2F2B --ranks 2 --microbatches 3", "Unknown schedule name '2F2B'");
  expect_refused("plan --pipeline 1F1B --microbatches 3", "--ranks is required");
  expect_refused("plan --pipeline 1F1B --ranks 3", "--microbatches is required");
  expect_refused("plan --pipeline 1F1B --ranks 3 --microbatches 2", "number of stages (3)");
  expect_refused("plan --pipeline GPipe --ranks 3 --microbatches 2 --stages-per-rank 2",
                 "expected one stage a rank, got 2");
  expect_refused("plan --pipeline GPipe --ranks 1024 --microbatches 1024", "at most 65536");
  expect_refused("plan --ranks 3 --microbatches 2", "--pipeline");
}

}  // namespace
}  // namespace simmesh
