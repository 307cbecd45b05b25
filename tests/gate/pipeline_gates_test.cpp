#include <gtest/gtest.h>

#include "tests/gate/gate_texts.h"

namespace simmesh::testing {
namespace {

// PipelineGate is a gate of four blocks in stages.
struct PipelineGate {
  std::string mesh = "shape = [2]\nnames = [\"pp\"]";
  std::string parallel;  // the keys of [parallel]
  std::string model = "kind = \"transformer\"";
  std::string train = "micro_batches = 4";
  std::string optimizer = "{ kind = \"adamw\" }";
  std::string rest = {};  // more tables
  std::string init = "scale = 0.3";

  std::string text() const {
    return "[mesh]\n" + mesh + "\n[model]\n" + model +
           "\nlayers = 4\nwidth = 8\nheads = 2\nhidden = 8\nvocabulary = 11\ninit = { " + init +
           " }\n[data]\nbatch = 16\nsequence = 8\n[parallel]\n" + parallel +
           "\n[train]\nsteps = 2\noptimizer = " + optimizer + "\nclip_grad_norm = 0.1\n" + train +
           "\n" + exact_mode + "[expect]\nsame_as = [\"single_device\"]\nschedules = 2\n" + rest;
  }
};

void expect_one_device(const PipelineGate& gate) {
  GateResult result = run_text(gate.text());
  EXPECT_EQ(result.failed(), 0) << gate.mesh << "\n" << gate.parallel << "\n" << text_of(result);
}

std::string pipeline_key(const std::string& schedule, const std::string& more = "") {
  return "pipeline = { mesh = \"pp\", schedule = \"" + schedule + "\"" + more + " }\n";
}

const std::vector<std::string> all_schedules = {
    "GPipe",         "1F1B",     "LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble",
    "ZBVZeroBubble", "DualPipeV"};

// Each class of schedules trains as one device does, also with split backward passes.
TEST(PipelineGates, EveryScheduleIsOneDevice) {
  for (const std::string& schedule : all_schedules)
    expect_one_device({.parallel = pipeline_key(schedule)});
}

// Both kinds of backward passes: whole ones, and those in two parts.
const std::vector<std::string> two_kinds = {"1F1B", "InterleavedZeroBubble"};

// The dims of a mesh of two ranks each.
std::string pairs_of(const std::vector<std::string>& names) {
  std::string sizes, list;
  for (const std::string& name : names) {
    sizes += sizes.empty() ? "2" : ", 2";
    list += (list.empty() ? "\"" : ", \"") + name + "\"";
  }
  return "shape = [" + sizes + "]\nnames = [" + list + "]";
}

const std::string expert_model = "kind = \"moe\"\nexperts = 3";
const std::string routed_model =
    expert_model +
    "\ncapacity_factor = 1.0\naux_loss = 0.01\nz_loss = 0.001\nbias_rate = 0.01\nshared = 1";

// Sums over micro-batches, stages and ranks are joined without rounding.
TEST(PipelineGates, BesideFormsOverRows) {
  for (const std::string form :
       {"replicate = { mesh = \"dp\" }\n", "fsdp = { mesh = \"dp\" }\n",
        "zero = { mesh = \"dp\", stage = 0 }\n", "zero = { mesh = \"dp\", stage = 1 }\n"})
    for (const std::string& schedule : two_kinds)
      expect_one_device(
          {.mesh = pairs_of({"pp", "dp"}), .parallel = form + pipeline_key(schedule)});
  expect_one_device(
      {.mesh = pairs_of({"pp", "r", "dp"}),
       .parallel = "fsdp = { mesh = [\"r\", \"dp\"] }\n" + pipeline_key("ZBVZeroBubble")});
}

// Stages send cut sequences, and gradients of normalisations have parts.
TEST(PipelineGates, BesideTensorAndContext) {
  for (const std::string& schedule : two_kinds) {
    for (const std::string tensor : {"false", "true"})
      expect_one_device({.mesh = pairs_of({"pp", "tp"}),
                         .parallel = "tensor = { mesh = \"tp\", sequence_parallel = " + tensor +
                                     " }\n" + pipeline_key(schedule)});
    expect_one_device({.mesh = pairs_of({"cp", "pp"}),
                       .parallel = "context = { mesh = \"cp\" }\n" + pipeline_key(schedule)});
  }
}

// Capacities, loads, losses and biases of routers are those of the whole step, though the
// micro-batches of a stage run in turns with those of others.
TEST(PipelineGates, BesideExperts) {
  for (const std::string& schedule : two_kinds) {
    expect_one_device({.parallel = pipeline_key(schedule), .model = routed_model});
    expect_one_device({.mesh = pairs_of({"pp", "ep"}),
                       .parallel = "expert = { mesh = \"ep\" }\n" + pipeline_key(schedule),
                       .model = routed_model});
  }
  for (const std::string form : {"fsdp = { mesh = \"dp\" }\n", "replicate = { mesh = \"dp\" }\n",
                                 "zero = { mesh = \"dp\", stage = 1 }\n"})
    expect_one_device(
        {.mesh = pairs_of({"pp", "dp", "ep"}),
         .parallel = form + "expert = { mesh = \"ep\" }\n" + pipeline_key("DualPipeV"),
         .model = routed_model});
}

// Stages that are built on the meta device have the values of one device, also of tied copies.
TEST(PipelineGates, GetTheirValuesOnceTheyAreSharded) {
  for (const std::string schedule : {"1F1B", "ZBVZeroBubble"})
    for (const std::string tied : {"false", "true"})
      expect_one_device({.mesh = pairs_of({"pp", "dp"}),
                         .parallel = "fsdp = { mesh = \"dp\" }\n" + pipeline_key(schedule),
                         .model = "kind = \"transformer\"\ntied_head = " + tied,
                         .init = "scale = 0.3, on_meta = true"});
}

TEST(PipelineGates, OnFiveDims) {
  expect_one_device(
      {.mesh = pairs_of({"pp", "dp", "cp", "ep", "tp"}),
       .parallel = "fsdp = { mesh = \"dp\" }\ncontext = { mesh = \"cp\" }\nexpert = { "
                   "mesh = \"ep\" }\ntensor = { mesh = \"tp\" }\n" +
                   pipeline_key("1F1B"),
       .model = expert_model});
}

// A tied parameter has one gradient, is counted once in the norm, and stays the same in all stages.
TEST(PipelineGates, TieWeightsOverStages) {
  const std::string tied = "kind = \"transformer\"\ntied_head = true";
  for (const std::string schedule : {"1F1B", "ZBVZeroBubble"}) {
    expect_one_device({.parallel = pipeline_key(schedule), .model = tied});
    for (const std::string form : {"replicate = { mesh = \"dp\" }\n", "fsdp = { mesh = \"dp\" }\n",
                                   "zero = { mesh = \"dp\", stage = 1 }\n"})
      expect_one_device({.mesh = pairs_of({"pp", "dp"}),
                         .parallel = form + pipeline_key(schedule),
                         .model = tied});
  }
}

// Recomputed blocks find the routing of their own micro-batch.
TEST(PipelineGates, RecomputeActivations) {
  const std::string recomputes = "activation_checkpointing = \"blocks\"\n";
  for (const std::string& schedule : two_kinds) {
    expect_one_device({.parallel = recomputes + pipeline_key(schedule), .model = routed_model});
    expect_one_device(
        {.mesh = pairs_of({"pp", "dp"}),
         .parallel = recomputes + "fsdp = { mesh = \"dp\" }\n" + pipeline_key(schedule)});
  }
}

TEST(PipelineGates, TrainWithOtherOptimizersAndRates) {
  std::string fsdp = "fsdp = { mesh = \"dp\" }\n" + pipeline_key("1F1B");
  expect_one_device({.mesh = pairs_of({"pp", "dp"}),
                     .parallel = fsdp,
                     .train = "micro_batches = 2\nlr_schedule = { kind = \"cosine\", steps = 4 }",
                     .optimizer = "{ kind = \"muon\" }"});
  expect_one_device({.parallel = pipeline_key("GPipe"),
                     .train = "micro_batches = 3",
                     .optimizer = "{ kind = \"sgd\", momentum = 0.9, lr = 0.1 }"});
}

// Stages may have unequal numbers of blocks, and none beside the embedding or the head.
TEST(PipelineGates, TakeUnevenCuts) {
  for (const char* blocks : {"[1, 3]", "[0, 4]", "[4, 0]"})
    expect_one_device({.parallel = pipeline_key("GPipe", std::string(", blocks = ") + blocks)});
  expect_one_device({.mesh = "shape = [3]\nnames = [\"pp\"]",
                     .parallel = pipeline_key("LoopedBFS",
                                              ", stages = 2, sends = \"buffered\", "
                                              "blocks = [0, 1, 1, 1, 1, 0]")});
}

// A run goes on in another layout, and on one device, from what all stages have saved.
TEST(PipelineGates, ResumeInOtherLayouts) {
  const std::string saves = "[checkpoint]\nsave_at = 1\nresume_on = { mesh = ";
  const std::string stages =
      "[2], names = [\"pp\"], parallel = { pipeline = { schedule = \"LoopedBFS\" } } }\n";
  for (const std::string& other : {std::string("[1] }\n"), stages})
    expect_one_device({.mesh = pairs_of({"pp", "dp"}),
                       .parallel = "fsdp = { mesh = \"dp\" }\n" + pipeline_key("ZBVZeroBubble"),
                       .model = routed_model,
                       .rest = saves + other});
  expect_one_device({.mesh = "shape = [1]", .parallel = "", .rest = saves + stages});
}

}  // namespace
}  // namespace simmesh::testing
