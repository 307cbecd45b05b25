#include <gmock/gmock.h>

#include "core/check/append_text.h"
#include "gate/runner.h"
#include "tests/gate/gate_texts.h"

// Experts in a world of shapes only must cost each rank what they cost with data.
namespace simmesh {
namespace {

using testing::expect_refused;
using ::testing::HasSubstr;

struct ExpertsGate {
  std::string mesh;
  std::string parallel;
  std::string model = "";
  std::string train = "micro_batches = 2\nclip_grad_norm = 0.5\n";
  std::string batch = "16";

  GateFile with(const std::string& world) const { return gate_from_text(text(world), "g.toml"); }
  std::string text(const std::string& world) const {
    return "[world]\n" + world + "[mesh]\n" + mesh +
           "[model]\nkind = \"moe\"\nlayers = 2\nwidth = 8\nhidden = 6\nvocabulary = 11\n"
           "experts = 4\nforce_load_balance = true\n" +
           model + "[data]\nbatch = " + batch + "\nsequence = 4\n[parallel]\n" + parallel +
           "[train]\nsteps = 2\noptimizer = { kind = \"adamw\" }\n" + train + "[device]\n";
  }
};

const std::string dp_ep = "shape = [2, 2]\nnames = [\"dp\", \"ep\"]\n";
const std::string dp_ep_tp = "shape = [2, 2, 2]\nnames = [\"dp\", \"ep\", \"tp\"]\n";

std::vector<ExpertsGate> experts_gates() {
  // ZeRO clips only where the norm is too large, which takes time and depends on values.
  const std::string unclipped = "micro_batches = 2\n";
  const std::string deep =
      "gated = true\ndense_layers = 1\ndense_hidden = 10\nshared = 1\nscore = \"sigmoid\"\n"
      "scaling = 2.5\nbias_rate = 0.001\n";
  return {
      {"shape = [1]\n", ""},
      {"shape = [1]\n", "", "capacity_factor = 1.0\naux_loss = 0.1\n"},
      {dp_ep, "expert = {}\n"},
      {dp_ep, "replicate = {}\nexpert = {}\n", "shared = 1\nz_loss = 0.1\nbias_rate = 0.1\n"},
      {dp_ep, "fsdp = {}\nexpert = {}\n", "capacity_factor = 1.5\naux_loss = 0.1\n"},
      {dp_ep, "fsdp = {}\nexpert = {}\n", "capacity_factor = 1.0\ndrop = \"probability\"\n"},
      {dp_ep, "fsdp = { mesh = [\"dp\", \"ep\"] }\nexpert = {}\n", "gated = true\n"},
      {dp_ep, "fsdp = { mesh = [\"dp\", \"ep\"] }\nexpert = {}\n",
       deep + "init = { on_meta = true }\n"},
      {dp_ep, "zero = { stage = 1 }\nexpert = {}\n", "", unclipped},
      {dp_ep, "zero = { stage = 2 }\nexpert = {}\n", "", unclipped},
      {dp_ep, "zero = { stage = 3 }\nexpert = {}\n", "", unclipped},
      {dp_ep, "replicate = {}\ncontext = { mesh = \"ep\", order = \"contiguous\" }\nexpert = {}\n"},
      {dp_ep,
       "zero = { stage = 1 }\ncontext = { mesh = \"ep\", order = \"contiguous\" }\nexpert = {}\n",
       "", unclipped},
      {dp_ep, "replicate = {}\ntensor = {}\nexpert = {}\n", "dense_layers = 1\n"},
      {dp_ep_tp, "fsdp = { mesh = [\"dp\", \"ep\"] }\nexpert = { mesh = \"ep\" }\ntensor = {}\n",
       deep},
      {dp_ep_tp,
       "replicate = {}\nexpert = { mesh = \"ep\", tensor_parallel = false }\ntensor = {}\n",
       "gated = true\n"},
  };
}

GateRun run_of(const GateFile& gate) {
  return GateRunner(gate, {}).run({.observes = true, .on_devices = true});
}

std::string figures_of(const GateRun& run, std::size_t rank) {
  const RankFindings& found = run.ranks[rank];
  std::string text;
  for (std::size_t op = 0; op < collective_op_count; ++op)
    append_text(text, "{} {} of {} bytes\n", name_of(CollectiveOp(op)), found.calls[op],
                found.bytes[op]);
  for (std::size_t i = 0; i < memory_category_count; ++i)
    append_text(text, "{} {}\n", to_string(MemoryCategory(i)), found.memory_peaks[i]);
  append_text(text, "{} us\n", run.outcome.devices[rank].makespan_us);
  return text;
}

// If this fails, the bytes, calls, peaks or times that a gate without data reports of experts are
// not those of the same gate with data.
TEST(ShapesOnlyExperts, HaveTheFiguresOfTheRunWithData) {
  for (const ExpertsGate& experts : experts_gates()) {
    SCOPED_TRACE(experts.text(""));
    GateFile with_data = experts.with(""), shapes_only = experts.with("shapes_only = true\n");
    GateRun data = run_of(with_data), shapes = run_of(shapes_only);
    EXPECT_TRUE(data.outcome.ok()) << report(data.outcome);
    EXPECT_TRUE(shapes.outcome.ok()) << report(shapes.outcome);
    if (!data.outcome.ok() || !shapes.outcome.ok()) continue;
    EXPECT_EQ(shapes.outcome.schedule_hash, data.outcome.schedule_hash);
    EXPECT_EQ(shapes.outcome.peak_bytes, data.outcome.peak_bytes);
    for (std::size_t rank = 0; rank < data.ranks.size(); ++rank)
      EXPECT_EQ(figures_of(shapes, rank), figures_of(data, rank)) << rank;
  }
}

// If this fails, the largest example costs something else, or has another size than pages state.
TEST(ShapesOnlyExperts, TheLargestExampleHasTheStatedParametersAndCosts) {
  GateFile gate = read_gate(SIMMESH_SOURCE_DIR "/examples/large/moe_671b.toml");
  std::int64_t count = 0;
  for (const ParameterData& parameter : training_model(gate.model, gate.model_use()).parameters)
    count += numel(parameter.shape);
  EXPECT_EQ(count, 672'178'992'128);
  GateResult result = run_gate(gate);
  EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
}

// If this fails, two ranks don't stand for all: a folded world has other calls or peaks.
TEST(ShapesOnlyExperts, TwoRanksStandForAll) {
  for (const ExpertsGate& experts : experts_gates()) {
    // Others begin with messages from a first rank, which a folded world may not run.
    if (experts.parallel.find("fsdp") == std::string::npos) continue;
    SCOPED_TRACE(experts.text(""));
    GateFile all = experts.with("shapes_only = true\n");
    GateFile two = experts.with("shapes_only = true\nfold = true\n");
    GateRunner::Request request{.observes = true};
    GateRun whole = GateRunner(all, {}).run(request), folded = GateRunner(two, {}).run(request);
    EXPECT_TRUE(folded.outcome.ok()) << report(folded.outcome);
    if (!folded.outcome.ok()) continue;
    EXPECT_EQ(folded.ranks.front().calls, whole.ranks.front().calls);
    EXPECT_EQ(folded.ranks.front().bytes, whole.ranks.front().bytes);
    EXPECT_EQ(folded.ranks.front().memory_peaks, whole.ranks.front().memory_peaks);
    EXPECT_EQ(folded.ranks.back().memory_peaks, whole.ranks.back().memory_peaks);
  }
}

// If this fails, a forced balance depends on the cut of the batch, or parameters that get values
// after sharding get other ones.
TEST(ShapesOnlyExperts, ForcedChoicesAndDeferredValuesAreThoseOfOneDevice) {
  for (const ExpertsGate& experts : experts_gates()) {
    if (experts.parallel.empty()) continue;
    std::string text = experts.text("");
    text.resize(text.find("[device]"));
    text += "[arithmetic]\nmode = \"exact\"\n[expect]\nsame_as = [\"single_device\"]\n";
    SCOPED_TRACE(text);
    GateResult result = run_gate(gate_from_text(text, "g.toml"));
    EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
  }
}

// If this fails, a gate reports costs of tokens that no rank can know.
TEST(ShapesOnlyExperts, UnevenTokensAreRefused) {
  const std::string shapes = "shapes_only = true\n";
  ExpertsGate uneven{dp_ep, "replicate = {}\nexpert = {}\n", "top_k = 1\n", "", "14"};
  expect_refused(uneven.text(shapes),
                 "key 'data.batch': expected equally many tokens for each of the 4 experts");
  uneven.batch = "16";
  uneven.train = "micro_batches = 3\n";
  expect_refused(uneven.text(shapes), "key 'data.batch'");
  ExpertsGate pieces{dp_ep, "replicate = {}\ncontext = { mesh = \"ep\" }\nexpert = {}\n",
                     "top_k = 1\n"};
  expect_refused(pieces.text(shapes), "and each piece of a sequence");
  ExpertsGate drops{dp_ep, "replicate = {}\nexpert = {}\n", "capacity_factor = 0.5\n"};
  expect_refused(drops.text(shapes),
                 "key 'model.capacity_factor': expected a capacity_factor of 1");
  ExpertsGate meta{dp_ep, "replicate = {}\nexpert = {}\n", "init = { on_meta = true }\n"};
  expect_refused(meta.text(""), "key 'model.init': expected on_meta = false");
  ExpertsGate split{dp_ep_tp, "fsdp = {}\nexpert = { mesh = \"ep\" }\ntensor = {}\n", meta.model};
  const std::string beside_tensor = "expected on_meta = false with parallel.tensor, but in a world";
  expect_refused(split.text(""), beside_tensor);
  EXPECT_TRUE(split.with(shapes).model.init_on_meta);
  split.parallel =
      "fsdp = {}\nexpert = { mesh = \"ep\" }\ntensor = { mesh = \"tp\", sequence_parallel = true "
      "}\n";
  expect_refused(split.text(shapes), beside_tensor);
}

// If this fails, a gate can't say what its collectives move or what its memory holds.
TEST(ShapesOnlyExperts, LimitsOfBytesAreChecked) {
  ExpertsGate experts{dp_ep, "fsdp = {}\nexpert = {}\n"};
  std::string expect =
      "[expect]\ncollective_bytes_max = { all_to_all = 1, all_reduce = 1000000 }\n"
      "memory_bytes_max = { parameter = 1, activation = 1000000 }\n";
  std::string text = testing::text_of(
      run_gate(gate_from_text(experts.text("shapes_only = true\n") + expect, "g.toml")));
  EXPECT_THAT(text, HasSubstr("FAIL collective_bytes_max all_to_all: expected at most 1 byte of "
                              "operands on each rank, got "));
  EXPECT_THAT(text, HasSubstr("pass collective_bytes_max all_reduce: expected at most 1000000"));
  EXPECT_THAT(text, HasSubstr("FAIL memory_bytes_max parameter: expected at most 1 byte on"));
  EXPECT_THAT(text, HasSubstr("pass memory_bytes_max activation"));
}

}  // namespace
}  // namespace simmesh
