#include <algorithm>
#include <gmock/gmock.h>

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
