#include "gate/run_gate.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "gate/result.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using testing::run_text;
using testing::text_of;

// Returns the perceptron on a number of ranks.
std::string mlp_on(int ranks) {
  std::string text = testing::replicated_mlp;
  return text.replace(text.find("[2]"), 3, fmt::format("[{}]", ranks));
}

// The main promise of a gate: neither ranks, nor micro-batches, nor uneven parts change a bit.
TEST(RunGate, AnyCutOfTheBatchGivesTheBitsOfOneDevice) {
  for (int ranks : {1, 2, 3, 4, 5})
    for (int micro_batches : {1, 2, 3}) {
      GateResult result =
          run_text(fmt::format("{}[train]\nsteps = 2\nmicro_batches = {}\n{}[expect]\nsame_as = "
                               "[\"single_device\"]\n",
                               mlp_on(ranks), micro_batches, testing::exact_mode));
      EXPECT_EQ(result.failed(), 0) << text_of(result);
    }
}

TEST(RunGate, NoOptionChangesData) {
  std::string text = mlp_on(3) + "[expect]\nschedules = 4\n";
  std::uint64_t hash = run_text(text).data_hash;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (std::int64_t threads : {1, 2}) {
      GateResult result = run_text(text, {.seed = 5, .schedule = schedule, .threads = threads});
      EXPECT_EQ(result.failed(), 0) << text_of(result);
      EXPECT_EQ(result.data_hash, hash) << schedule << " " << threads;
    }
  EXPECT_NE(run_text(text, {.arithmetic = "exact"}).data_hash, hash);
}

TEST(RunGate, EveryModelTrains) {
  for (const char* kind : {"mlp", "linear_stack", "transformer", "moe"})
    for (const char* dtype : {"float32", "float64", "bfloat16", "float16"}) {
      GateResult result = run_text(
          fmt::format("[mesh]\nshape = [2]\n[model]\nkind = \"{}\"\ndtype = \"{}\"\n"
                      "layers = 1\nwidth = 8\ninit = {{ scale = 0.25 }}\n[data]\nbatch = 4\n"
                      "[parallel]\nreplicate = {{}}\n[train]\noptimizer = {{ kind = "
                      "\"adamw\" }}\nclip_grad_norm = 0.5\n{}[expect]\nsame_as = "
                      "[\"single_device\"]\n",
                      kind, dtype, testing::exact_mode));
      EXPECT_EQ(result.failed(), 0) << kind << " " << dtype << "\n" << text_of(result);
    }
}

// Recomputed activations must have the bits of the dropped ones.
TEST(RunGate, CheckpointingChangesNoBit) {
  std::string text =
      "[mesh]\nshape = [2]\n[model]\nkind = \"transformer\"\n[data]\nbatch = 32\nsequence = 16\n"
      "[parallel]\nreplicate = {}\n";
  GateResult plain = run_text(text),
             dropped = run_text(text + "activation_checkpointing = \"blocks\"\n");
  EXPECT_EQ(plain.data_hash, dropped.data_hash);
  EXPECT_LT(dropped.peak_bytes, plain.peak_bytes);
}

// All checks are made, also after one that fails, and the last line counts them.
TEST(RunGate, MakesEveryCheckThatIsAskedFor) {
  std::string text = mlp_on(2);
  GateResult plain = run_text(text);
  std::string good = text + fmt::format(
                                "[expect]\nhash = \"{:016x}\"\nloss = [{}]\npeak_bytes_max = {}\n"
                                "collectives = {{ all_reduce = {}, barrier = 0 }}\n",
                                plain.data_hash, plain.losses[0], plain.peak_bytes,
                                plain.collectives.at("all_reduce"));
  EXPECT_EQ(run_text(good).failed(), 0) << text_of(run_text(good));
  EXPECT_EQ(run_text(good).passed(), 7);
  std::string bad = text + fmt::format(
                               "[expect]\nhash = \"{:016x}\"\nloss = [{}]\nloss_rtol = 1e-3\n"
                               "peak_bytes_max = {}\ncollectives = {{ all_reduce = 99 }}\n",
                               plain.data_hash + 1, plain.losses[0] * 1.01, plain.peak_bytes - 1);
  GateResult result = run_text(bad);
  EXPECT_EQ(result.failed(), 4) << text_of(result);
  EXPECT_THAT(text_of(result), HasSubstr("\nreproduce: simmesh run g.toml\n2 passed, 4 failed\n"));
}

TEST(RunGate, NodesThatDoNotFitAreBad) {
  EXPECT_THROW(run_text("[model]\nnodes = [{ name = \"a\", kind = \"linear\", in = 3, out = 3 }]\n"
                        "[data]\ninput = [4]\n"),
               BadGate);
}

// A failed run is reported with what every rank was doing, and no further checks are made.
TEST(RunGate, ARunThatFailsIsReported) {
  GateFile gate =
      gate_from_text(testing::exact_mode + "[expect]\nsame_as = [\"single_device\"]\n", "g.toml");
  gate.train.optimizer = optim::SgdOptions{.nesterov = true};  // nesterov needs a momentum
  GateResult result = run_gate(gate);
  ASSERT_GT(result.failed(), 0) << text_of(result);
  EXPECT_THAT(text_of(result), HasSubstr("FAIL run: expected 1 rank to return"));
}

TEST(RunGate, PrintsTheSameTwiceAndAsJson) {
  std::string text = "title = \"t\"\n" + mlp_on(2);
  GateResult result = run_text(text);
  EXPECT_EQ(text_of(result), text_of(run_text(text)));
  EXPECT_EQ(to_text(gsl::span<const GateResult>(&result, 1), {.quiet = true}),
            "2 passed, 0 failed\n");
  auto printed = nlohmann::json::parse(to_json(gsl::span<const GateResult>(&result, 1)));
  EXPECT_EQ(printed["passed"], 2);
  EXPECT_EQ(printed["gates"][0]["title"], "t");
  EXPECT_EQ(printed["gates"][0]["checks"][0]["name"], "run");
}

}  // namespace
}  // namespace simmesh
