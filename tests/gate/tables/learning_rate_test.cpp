#include "gate/tables/learning_rate.h"

#include "gate/explain.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

const std::string start = testing::replicated_mlp + "[train]\nsteps = 3\n";
const std::string exact = testing::exact_mode;

GateLearningRate schedule_of(const std::string& table) {
  return *gate_from_text(start + "lr_schedule = " + table + "\n", "g.toml").train.lr_schedule;
}

TEST(GateLearningRate, ReadsEachKind) {
  EXPECT_EQ(schedule_of("{}").rate().factor(7), 1.0);
  EXPECT_EQ(schedule_of("{ kind = \"step\", every = 2, gamma = 0.5 }").rate().factor(5), 0.25);
  EXPECT_EQ(
      schedule_of("{ kind = \"multi_step\", milestones = [1, 3], gamma = 0.5 }").rate().factor(3),
      0.25);
  EXPECT_EQ(schedule_of("{ kind = \"exponential\", gamma = 0.5 }").rate().factor(3), 0.125);
  EXPECT_EQ(schedule_of("{ kind = \"linear\", steps = 4, start = 0.0 }").rate().factor(2), 0.5);
  EXPECT_NEAR(schedule_of("{ kind = \"cosine\", steps = 4 }").rate().factor(4), 0.0, 1e-12);
  GateLearningRate warm =
      schedule_of("{ kind = \"exponential\", gamma = 0.5, warmup = 2, warmup_start = 0.5 }");
  EXPECT_EQ(warm.rate().factor(0), 0.5);
  EXPECT_EQ(warm.rate().factor(2), 1.0);
  EXPECT_EQ(warm.rate().factor(3), 0.5);
}

TEST(GateLearningRate, ExplainsItself) {
  GateFile gate =
      gate_from_text(start + "lr_schedule = { kind = \"cosine\", steps = 3, warmup = 1 }\n", "g");
  EXPECT_EQ(explain(gate_from_text(explain(gate), "g")), explain(gate));
  EXPECT_NE(explain(gate).find(learning_rate_entry(*gate.train.lr_schedule)), std::string::npos);
}

TEST(GateLearningRate, RefusesWhatAKindDoesNotHave) {
  testing::expect_refused(start + "lr_schedule = { kind = \"cosinus\" }\n",
                          "one of constant, step");
  testing::expect_refused(start + "lr_schedule = { kind = \"step\", steps = 3 }\n", "steps");
  testing::expect_refused(start + "lr_schedule = { kind = \"multi_step\", milestones = [3, 1] }\n",
                          "ascending");
}

// A rank that used another rate would leave the bits of one device; so would a run that resumes
// with the first rate.
TEST(GateLearningRate, IsTheSameInEveryFormAndAfterAResume) {
  for (const char* form :
       {"replicate = {}", "fsdp = {}", "zero = { stage = 1 }", "zero = { stage = 3 }"}) {
    GateResult result = testing::run_text(
        std::string("[mesh]\nshape = [2]\n[model]\nwidth = 6\n[parallel]\n") + form +
        "\n[train]\nsteps = 3\nlr_schedule = { kind = \"exponential\", gamma = 0.5 }\n" + exact +
        "[checkpoint]\nsave_at = 2\n[expect]\nsame_as = [\"single_device\"]\n");
    EXPECT_EQ(result.failed(), 0) << form << "\n" << testing::text_of(result);
  }
}

// If the factor were ignored, the runs would be equal.
TEST(GateLearningRate, ChangesTheRun) {
  auto hash = [](const std::string& train) {
    return testing::run_text(start + train + exact +
                             "[expect]\nschedules = 1\nhash = \"0000000000000000\"\n")
        .data_hash;
  };
  EXPECT_NE(hash(""), hash("lr_schedule = { kind = \"exponential\", gamma = 0.5 }\n"));
  EXPECT_EQ(hash(""), hash("lr_schedule = { kind = \"constant\" }\n"));
}

}  // namespace
}  // namespace simmesh
