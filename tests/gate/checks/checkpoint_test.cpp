#include <algorithm>
#include <gmock/gmock.h>
#include <map>

#include "gate/run_gate.h"

namespace simmesh {
namespace {

// A mesh and the table [parallel] of a run.
struct ResumeForm {
  std::string name, mesh, names, parallel;
};

const std::vector<ResumeForm>& resume_forms() {
  static const std::vector<ResumeForm> forms = {
      {"one_device", "[1]", "[\"dp\"]", ""},
      {"ddp", "[2]", "[\"dp\"]", "replicate = {}"},
      {"fsdp", "[3]", "[\"dp\"]", "fsdp = {}"},
      {"hsdp", "[2, 2]", "[\"replicate\", \"shard\"]",
       "fsdp = { mesh = [\"replicate\", \"shard\"] }"},
      {"tensor", "[2]", "[\"tp\"]", "tensor = {}"},
      {"fsdp_tensor", "[2, 2]", "[\"dp\", \"tp\"]",
       "fsdp = { mesh = \"dp\" }, tensor = { mesh = \"tp\" }"},
      {"zero1", "[2]", "[\"dp\"]", "zero = { stage = 1 }"},
      {"zero2", "[3]", "[\"dp\"]", "zero = { stage = 2 }"},
      {"zero3", "[4]", "[\"dp\"]", "zero = { stage = 3 }"},
  };
  return forms;
}

std::string with_lines(std::string parallel) {
  for (std::size_t at = parallel.find("}, "); at != parallel.npos; at = parallel.find("}, "))
    parallel.replace(at, 3, "}\n");
  return parallel;
}

std::string resume_gate(const ResumeForm& from, const ResumeForm& to, const std::string& model) {
  return "[mesh]\nshape = " + from.mesh + "\nnames = " + from.names + "\n" + model +
         "[parallel]\n" + with_lines(from.parallel) +
         "\n[train]\nsteps = 4\noptimizer = { kind = \"adamw\", lr = 1e-2, weight_decay = 0.1 }\n"
         "clip_grad_norm = 0.5\n[arithmetic]\nmode = \"exact\"\n"
         "[checkpoint]\nsave_at = 1\nresume_on = { mesh = " +
         to.mesh + ", names = " + to.names + ", parallel = { " + to.parallel + " } }\n";
}

const std::string small_transformer =
    "[model]\nkind = \"transformer\"\nlayers = 1\nwidth = 6\nheads = 2\nvocabulary = 11\n"
    "hidden = 10\ninit = { rule = \"unit\", scale = 0.3, seed = 1 }\n"
    "[data]\nbatch = 12\nsequence = 2\n";

const std::string small_experts =
    "[model]\nkind = \"moe\"\nlayers = 1\nwidth = 6\nheads = 2\nvocabulary = 11\nexperts = 3\n"
    "top_k = 2\nhidden = 5\ninit = { rule = \"unit\", scale = 0.3, seed = 1 }\n"
    "[data]\nbatch = 12\nsequence = 2\n";

void expect_resumes(const ResumeForm& from, const ResumeForm& to, const std::string& model) {
  GateResult result = run_gate(gate_from_text(resume_gate(from, to, model), "resume.toml"));
  for (const GateCheck& check : result.checks)
    EXPECT_TRUE(check.passed) << from.name << " to " << to.name << ": " << check.name << ": "
                              << check.expected << ", got " << check.actual << "\n"
                              << result.failure;
}

// Each form resumes as the next one in the list; three steps later nothing differs from a run that
// never stopped. Ranks get uneven pieces, and some none. ResumeMatrix has all pairs.
TEST(CheckpointCheck, EachFormGoesOnAsTheNext) {
  const std::vector<ResumeForm>& forms = resume_forms();
  for (std::size_t i = 0; i < forms.size(); ++i)
    expect_resumes(forms[i], forms[(i + 1) % forms.size()], small_transformer);
}

// Each form is saved while it trains on, and resumes as from a save that blocks.
TEST(CheckpointCheck, EveryFormIsSavedInTheBackground) {
  const ResumeForm fsdp = {"fsdp", "[3]", "[\"dp\"]", "fsdp = {}"};
  for (const ResumeForm& from : resume_forms())
    for (const char* mode : {"async", "zero_cost"}) {
      std::string text = resume_gate(from, fsdp, small_transformer);
      text.insert(text.find("save_at"), fmt::format("mode = \"{}\"\n", mode));
      text.insert(text.find("steps = 4"), "micro_batches = 2\n");
      text.replace(text.find("batch = 12"), 10, "batch = 24");
      GateResult result = run_gate(gate_from_text(text, "resume.toml"));
      std::vector<std::string> names;
      for (const GateCheck& check : result.checks) {
        names.push_back(check.name);
        EXPECT_TRUE(check.passed) << from.name << " " << mode << ": " << check.expected << ", got "
                                  << check.actual << "\n"
                                  << result.failure;
      }
      EXPECT_THAT(names, ::testing::Contains(mode == std::string("async")
                                                 ? "resume on [3] after an async save"
                                                 : "resume on [3] after a zero-cost save"));
    }
}

TEST(CheckpointCheck, ExpertsGoOnElsewhere) {
  const ResumeForm experts = {"experts", "[2]", "[\"ep\"]", "expert = {}"};
  const ResumeForm sharded = {"experts_fsdp", "[2, 2]", "[\"dp\", \"ep\"]",
                              "fsdp = { mesh = \"dp\" }, expert = { mesh = \"ep\" }"};
  const ResumeForm ddp = {"ddp", "[3]", "[\"dp\"]", "replicate = {}"};
  const ResumeForm fsdp = {"fsdp", "[2]", "[\"dp\"]", "fsdp = {}"};
  const ResumeForm all[] = {experts, sharded, ddp, fsdp};
  for (const ResumeForm& from : all)
    for (const ResumeForm& to : all) expect_resumes(from, to, small_experts);
}

// Returns the checks of a run that is saved with more keys of the table, by their names.
std::map<std::string, GateCheck> checks_with(const std::string& keys, const std::string& resume_on,
                                             const ResumeForm& from) {
  std::string text = resume_gate(from, from, small_transformer);
  text.resize(text.find("save_at = 1"));
  text += "save_at = 2\n" + keys + resume_on;
  GateResult result = run_gate(gate_from_text(text, "resume.toml"));
  std::map<std::string, GateCheck> checks;
  for (const GateCheck& check : result.checks) {
    EXPECT_TRUE(check.passed) << text << check.name << ": " << check.expected << ", got "
                              << check.actual << "\n"
                              << result.failure;
    checks[check.name] = check;
  }
  return checks;
}

const std::string on_three_shards =
    "resume_on = { mesh = [3], names = [\"dp\"], parallel = { fsdp = {} } }\n";

// If this fails, a part of a modular checkpoint can't be loaded by itself, or a run that goes on as
// it was reads files of other ranks.
TEST(CheckpointCheck, PartsAndLocalFilesAreChecked) {
  for (const ResumeForm& from : resume_forms()) {
    std::string keys = "layout = \"modular\"\nkeeps_local = true\n";
    auto checks = checks_with(keys, "", from);
    EXPECT_THAT(checks["modular checkpoint"].actual,
                ::testing::HasSubstr("model_state, optimizer_state, other_state"))
        << from.name;
    EXPECT_EQ(checks["local resume"].actual, "that") << from.name;
    EXPECT_EQ(checks_with(keys, on_three_shards, from).count("local resume"), 0u);
  }
}

// If this fails, averages of a run that was saved in some mode and went on in another form differ
// from those of the run that never stopped.
TEST(CheckpointCheck, MovingAveragesGoOn) {
  for (const ResumeForm& from : resume_forms())
    for (const char* mode : {"blocking", "async", "zero_cost"})
      for (const char* ema :
           {"decay = 0.9", "decay = 0.5, interval = 2, start = \"first_value\""}) {
        std::string keys = fmt::format("mode = \"{}\"\nema = {{ {} }}\n", mode, ema);
        EXPECT_EQ(checks_with(keys, on_three_shards, from).count("moving averages"), 1u);
      }
}

// If this fails, a gate asks for an average that no run has.
TEST(CheckpointCheck, AveragesNeedFloat32) {
  std::string text = resume_gate(resume_forms()[0], resume_forms()[2], small_transformer);
  text.insert(text.find("save_at"), "ema = {}\n");
  text.insert(text.find("kind = \"transformer\""), "dtype = \"bfloat16\"\n");
  EXPECT_THROW(gate_from_text(text, "resume.toml"), BadGate);
  EXPECT_NO_THROW(
      gate_from_text(resume_gate(resume_forms()[0], resume_forms()[2], small_transformer), "r"));
}

// The check would be worth nothing if a run with other bits passed.
TEST(CheckpointCheck, FiresWhereTheRunGoesOnWithOtherBits) {
  const ResumeForm one = {"one_device", "[1]", "[\"dp\"]", ""};
  const ResumeForm fsdp = {"fsdp", "[3]", "[\"dp\"]", "fsdp = {}"};
  std::string text = resume_gate(one, fsdp, small_transformer);
  // Sums in the order of a ring depend on how rows are cut.
  text.replace(text.find("mode = \"exact\""), 14, "mode = \"as_gloo_ring\"");
  GateResult result = run_gate(gate_from_text(text, "resume.toml"));
  auto resume = std::find_if(result.checks.begin(), result.checks.end(),
                             [](const GateCheck& check) { return check.name == "resume on [3]"; });
  ASSERT_NE(resume, result.checks.end());
  EXPECT_FALSE(resume->passed);
}

}  // namespace
}  // namespace simmesh
