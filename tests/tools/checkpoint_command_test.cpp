#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::run_program;

const std::string recorded =
    std::string(SIMMESH_SOURCE_DIR) + "/tests/cases/checkpoint/dcp/native_single";

TEST(CheckpointCommand, PrintsWhatACheckpointHolds) {
  auto run = run_program("checkpoint inspect " + recorded);
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.output.find("lin.weight float32[4, 6] in 1 chunk\n"), run.output.npos);
  EXPECT_NE(run.output.find("cfg.act = \"gelu\"\n"), run.output.npos);
  EXPECT_EQ(run.last_line(), "3 tensors, 2 other values, 112 bytes");
  auto json = nlohmann::json::parse(run_program("checkpoint inspect --json " + recorded).output);
  EXPECT_EQ(json["tensors"].size(), 3u);
  EXPECT_EQ(json["objects"][0]["value"], 2);
}

TEST(CheckpointCommand, ConvertsVerifiesAndCompares) {
  testing::TemporaryFolder folder;
  std::string ours = folder.path().string() + "/run/step_1";
  EXPECT_EQ(run_program("checkpoint convert " + recorded + " " + ours).status, 0);
  EXPECT_EQ(run_program("checkpoint verify " + ours).status, 0);
  // The latest checkpoint of a folder of checkpoints counts.
  EXPECT_EQ(
      run_program("checkpoint diff " + folder.path().string() + "/run " + recorded).last_line(),
      "no difference");
  auto again = run_program("checkpoint convert " + recorded + " " + ours);
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.output.find("a save never overwrites"), again.output.npos);
  // A byte more than was saved.
  run_program("doctor --help; echo >> " + ours + "/rank_00000.safetensors");
  auto broken = run_program("checkpoint verify " + ours);
  EXPECT_EQ(broken.status, 1);
  EXPECT_EQ(broken.last_line(), ours + ": 1 problem");
}

// A name from a file must neither begin a line of its own nor reach the terminal as it is.
TEST(CheckpointCommand, EscapesNamesOfFiles) {
  testing::TemporaryFolder folder;
  std::string header = R"({"a\u001b[31m\nb":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::string length(8, '\0');
  length[0] = char(header.size());
  std::string file = folder.path().string() + "/x.safetensors";
  std::ofstream(file) << length << header << "1";
  auto run = run_program("checkpoint inspect " + file);
  EXPECT_NE(run.output.find("a\\x1b[31m\\nb uint8[1] in 1 chunk\n"), run.output.npos) << run.output;
  std::ofstream(file) << length << header << "12";
  testing::expect_refused("checkpoint inspect " + file, "[checkpoint/safetensors] ");
}

// A checkpoint of any training is written but for what isn't read, which a line names.
TEST(CheckpointCommand, NamesWhatAConversionLeavesOut) {
  testing::TemporaryFolder folder;
  std::string from = std::string(SIMMESH_SOURCE_DIR) + "/tests/checkpoint/pytorch/files/module.pt";
  auto run = run_program("checkpoint convert " + from + " " + folder.path().string() + "/to");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.last_line(), "left out 1 value of classes that aren't read: train.Net");
}

TEST(CheckpointCommand, NamesItsSubcommands) {
  testing::expect_refused("checkpoint frob x",
                          "expected a subcommand (inspect, verify, convert or diff), got frob");
  testing::expect_refused("checkpoint", "A subcommand is required");
}

TEST(CheckpointCommand, RefusesWhatIsNoCheckpoint) {
  testing::expect_refused("checkpoint inspect /nowhere/at/all", "expected a checkpoint");
  testing::expect_refused("checkpoint verify /nowhere/at/all", "got no such file or folder");
  std::string page = std::string(SIMMESH_SOURCE_DIR) + "/README.md";
  testing::expect_refused("checkpoint inspect " + page, "expected a folder or a safetensors file");
  testing::TemporaryFolder folder;
  std::string file = folder.path().string() + "/file";
  std::ofstream(file) << "text";
  testing::expect_refused("checkpoint convert " + recorded + " " + file, "file exists");
  testing::expect_refused("checkpoint convert " + recorded + " /tmp/x --format zip",
                          "expected the format");
}

}  // namespace
}  // namespace simmesh
