#include <map>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::run_program;

class ConfigCommand : public ::testing::Test {
 protected:
  testing::ProgramRun run(const std::string& config, const std::string& options = "") const {
    folder_.write("ds_config.json", config);
    return run_program("config ds_config.json " + options, folder_.path().string());
  }

  testing::TemporaryFolder folder_;
};

// If this fails, a script that asks whether a file is right gets another answer than DeepSpeed's.
TEST_F(ConfigCommand, SaysWhetherAFileIsRight) {
  auto right = run("{\n # one node\n train_batch_size: 16,\n zero_optimization: {stage: 2}\n}",
                   "--ranks 8 --parameters 1000");
  EXPECT_EQ(right.status, 0) << right.output;
  EXPECT_EQ(right.last_line(), "right");
  EXPECT_NE(right.output.find("zero_optimization.stage = 2: parameters 4 P = 4000 bytes"),
            right.output.npos)
      << right.output;
  auto wrong = run(R"({"train_batch_size": 15})", "--ranks 8");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.last_line().find("wrong: AssertionError: "), std::string::npos) << wrong.output;
  auto missing = run(R"({"train_batch_size": 8, "sequence_parallel_size": 2})");
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.last_line().find("simmesh has no Ulysses"), std::string::npos);
}

TEST_F(ConfigCommand, FillsInAuto) {
  std::string config = R"({"train_micro_batch_size_per_gpu": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}},
    "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}})";
  auto run_with = run(config,
                      "--ranks 4 --auto train_micro_batch_size_per_gpu=2,betas=0.9,0.5,lr=0.25 "
                      "--auto hidden_size=10 --json");
  ASSERT_EQ(run_with.status, 0) << run_with.output;
  auto json = nlohmann::json::parse(run_with.output);
  EXPECT_EQ(json["result"], "right");
  EXPECT_EQ(json["train_batch_size"], 8);
  std::map<std::string, nlohmann::json> values;
  for (const auto& key : json["keys"]) values[key["key"]] = key["value"];
  EXPECT_EQ(values["zero_optimization.reduce_bucket_size"], 100);
  EXPECT_EQ(values["optimizer.params.betas"][1], 0.5);
}

// If this fails, a folder is an empty configuration.
TEST_F(ConfigCommand, NamesAFolder) {
  auto of_folder = run_program("config .", folder_.path().string());
  EXPECT_EQ(of_folder.status, 2) << of_folder.output;
  EXPECT_NE(of_folder.last_line().find("got '.', which can't be read"), std::string::npos)
      << of_folder.output;
}

// Bad input ends with status 2 and one line.
TEST_F(ConfigCommand, CantJudgeWhatItCantRead) {
  for (auto [config, options] :
       {std::pair("{", ""), std::pair(R"({"train_batch_size": "auto"})", ""),
        std::pair("{}", "--auto hidden=3"), std::pair("{}", "--ranks 0")}) {
    auto bad = run(config, options);
    EXPECT_EQ(bad.status, 2) << bad.output;
    EXPECT_EQ(bad.line_count(), 1u) << bad.output;
  }
  EXPECT_EQ(run_program("config /nowhere/ds.json").status, 2);
  EXPECT_EQ(run("{train_batch_size: 1}", "--quiet").output, "right\n");
}

}  // namespace
}  // namespace simmesh
