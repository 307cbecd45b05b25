#include "gate/run_gate.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "gate/report.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

const std::string mlp = R"(
[model]
width = 6
hidden = 5
out = 4
init = { scale = 0.5 }
[data]
rule = "wide"
batch = 30
[parallel]
replicate = { bucket_bytes = 64 }
)";
const std::string exact = "[arithmetic]\nmode = \"exact\"\n";

GateFile gate_of(const std::string& text) { return gate_from_text(text, "g.toml"); }

GateResult run(const std::string& text, const GateRunOptions& options = {}) {
  return run_gate(gate_of(text), options);
}

std::string text_of(const GateResult& result) {
  return to_text(gsl::span<const GateResult>(&result, 1));
}

const GateCheck& check_of(const GateResult& result, std::string_view name) {
  for (const GateCheck& check : result.checks)
    if (check.name == name) return check;
  ADD_FAILURE() << "no check " << name << " in " << text_of(result);
  static const GateCheck none;
  return none;
}

// The main promise of a gate: neither ranks, nor micro-batches, nor uneven parts change a bit.
TEST(RunGate, AnyCutOfTheBatchGivesTheBitsOfOneDevice) {
  for (int ranks : {1, 2, 3, 4, 5})
    for (int micro_batches : {1, 2, 3}) {
      GateResult result =
          run(fmt::format("[mesh]\nshape = [{}]\n{}[train]\nsteps = 2\n"
                          "micro_batches = {}\n{}[expect]\nsame_as = "
                          "[\"single_device\"]\n",
                          ranks, mlp, micro_batches, exact));
      EXPECT_EQ(result.failed(), 0) << text_of(result);
    }
}

// An expert that no token chose has no gradient on one device, but a gradient of zeros if sharding
// reduces unused parameters. The check must name the expert and say why it differs.
TEST(RunGate, SaysWhyAnIdleExpertDiffers) {
  auto gate = [](const std::string& fsdp) {
    return run(
        "[mesh]\nshape = [2]\n[model]\nkind = \"moe\"\nlayers = 1\nwidth = 8\nheads = 2\n"
        "vocabulary = 11\nexperts = 8\ntop_k = 1\nhidden = 4\n[data]\nbatch = 2\n"
        "sequence = 2\n[parallel]\nfsdp = { " +
        fsdp + " }\n[train]\nsteps = 2\noptimizer = { kind = \"adamw\" }\n" + exact +
        "[expect]\nsame_as = [\"single_device\"]\n");
  };
  GateCheck check = check_of(gate(""), "same_as single_device");
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.actual,
              HasSubstr("one of zeros on rank 0: step 0 gradient of block0.mlp.experts.expert"));
  EXPECT_THAT(check.actual, HasSubstr("no rank used this parameter in the step"));
}

// The check can fail: canonical sums depend on how the batch is cut.
TEST(RunGate, CanonicalSumsAreNotThoseOfOneDevice) {
  GateResult result =
      run("[mesh]\nshape = [4]\n" + mlp + "[expect]\nsame_as = [\"single_device\"]\n");
  const GateCheck& check = check_of(result, "same_as single_device");
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.actual, HasSubstr("on rank 0: step 0 "));
  EXPECT_THAT(check.expected, HasSubstr("(bits "));
  EXPECT_EQ(result.reproduce, "simmesh run g.toml");
}

TEST(RunGate, NoOptionChangesData) {
  std::string text = "[mesh]\nshape = [3]\n" + mlp + "[expect]\nschedules = 4\n";
  std::uint64_t hash = run(text).data_hash;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (std::int64_t threads : {1, 2}) {
      GateResult result = run(text, {.seed = 5, .schedule = schedule, .threads = threads});
      EXPECT_EQ(result.failed(), 0) << text_of(result);
      EXPECT_EQ(result.data_hash, hash) << schedule << " " << threads;
    }
  EXPECT_NE(run(text, {.arithmetic = "exact"}).data_hash, hash);
}

TEST(RunGate, EveryModelTrains) {
  for (const char* kind : {"mlp", "linear_stack", "transformer", "moe"})
    for (const char* dtype : {"float32", "float64", "bfloat16", "float16"}) {
      GateResult result =
          run(fmt::format("[mesh]\nshape = [2]\n[model]\nkind = \"{}\"\ndtype = \"{}\"\n"
                          "layers = 1\nwidth = 8\ninit = {{ scale = 0.25 }}\n[data]\nbatch = 4\n"
                          "[parallel]\nreplicate = {{}}\n[train]\noptimizer = {{ kind = "
                          "\"adamw\" }}\nclip_grad_norm = 0.5\n{}[expect]\nsame_as = "
                          "[\"single_device\"]\n",
                          kind, dtype, exact));
      EXPECT_EQ(result.failed(), 0) << kind << " " << dtype << "\n" << text_of(result);
    }
}

// Recomputed activations must have the bits of the dropped ones.
TEST(RunGate, CheckpointingChangesNoBit) {
  std::string text =
      "[mesh]\nshape = [2]\n[model]\nkind = \"transformer\"\n[data]\nbatch = 32\nsequence = 16\n"
      "[parallel]\nreplicate = {}\n";
  GateResult plain = run(text), dropped = run(text + "activation_checkpointing = \"blocks\"\n");
  EXPECT_EQ(plain.data_hash, dropped.data_hash);
  EXPECT_LT(dropped.peak_bytes, plain.peak_bytes);
}

TEST(RunGate, ChecksWhatIsExpected) {
  std::string text = "[mesh]\nshape = [2]\n" + mlp;
  GateResult plain = run(text);
  std::string good = text + fmt::format(
                                "[expect]\nhash = \"{:016x}\"\nloss = [{}]\npeak_bytes_max = {}\n"
                                "collectives = {{ all_reduce = {}, barrier = 0 }}\n",
                                plain.data_hash, plain.losses[0], plain.peak_bytes,
                                plain.collectives.at("all_reduce"));
  EXPECT_EQ(run(good).failed(), 0) << text_of(run(good));
  EXPECT_EQ(run(good).passed(), 7);
  std::string bad = text + fmt::format(
                               "[expect]\nhash = \"{:016x}\"\nloss = [{}]\nloss_rtol = 1e-3\n"
                               "peak_bytes_max = {}\ncollectives = {{ all_reduce = 99 }}\n",
                               plain.data_hash + 1, plain.losses[0] * 1.01, plain.peak_bytes - 1);
  GateResult result = run(bad);
  EXPECT_EQ(result.failed(), 4) << text_of(result);
  EXPECT_THAT(text_of(result), HasSubstr("\nreproduce: simmesh run g.toml\n2 passed, 4 failed\n"));
}

TEST(RunGate, ReportsEveryFault) {
  GateResult result = run("[mesh]\nshape = [3]\n" + mlp + R"([train]
steps = 2
[expect]
schedules = 4
[faults]
kill = [{ rank = 2, at = "step 1 backward" }, { at = "operation 1" }]
starve = { rank = 1 }
abandon = { rank = 1 }
flip_bit = { rank = 0, at = "step 1 forward", bit = 2 }
fail_allocation = { rank = 2, allocation = 9 }
call_another = { rank = 1, at = "step 0 backward" }
)");
  EXPECT_EQ(result.failed(), 0) << text_of(result);
  EXPECT_THAT(check_of(result, "kill of rank 2 at operation 7").actual, HasSubstr("killed"));
}

TEST(RunGate, AFaultNeedsAnOperation) {
  try {
    run("[faults]\nkill = {}\n");
    ADD_FAILURE();
  } catch (const BadGate& error) {
    EXPECT_THAT(error.what(), HasSubstr("[g.toml:2:8] expected a fault at an operation"));
  }
}

TEST(RunGate, NodesThatDoNotFitAreBad) {
  EXPECT_THROW(run("[model]\nnodes = [{ name = \"a\", kind = \"linear\", in = 3, out = 3 }]\n"
                   "[data]\ninput = [4]\n"),
               BadGate);
}

// A failed run is reported with what every rank was doing, and no further checks are made.
TEST(RunGate, ARunThatFailsIsReported) {
  GateFile gate = gate_of(exact + "[expect]\nsame_as = [\"single_device\"]\n");
  gate.train.optimizer = optim::SgdOptions{.nesterov = true};  // nesterov needs a momentum
  GateResult result = run_gate(gate);
  ASSERT_GT(result.failed(), 0) << text_of(result);
  EXPECT_THAT(text_of(result), HasSubstr("FAIL run: expected 1 rank to return"));
}

TEST(RunGate, PrintsTheSameTwiceAndAsJson) {
  std::string text = "title = \"t\"\n[mesh]\nshape = [2]\n" + mlp;
  GateResult result = run(text);
  EXPECT_EQ(text_of(result), text_of(run(text)));
  EXPECT_EQ(to_text(gsl::span<const GateResult>(&result, 1), {.quiet = true}),
            "2 passed, 0 failed\n");
  auto printed = nlohmann::json::parse(to_json(gsl::span<const GateResult>(&result, 1)));
  EXPECT_EQ(printed["passed"], 2);
  EXPECT_EQ(printed["gates"][0]["title"], "t");
  EXPECT_EQ(printed["gates"][0]["checks"][0]["name"], "run");
}

}  // namespace
}  // namespace simmesh
