#include "gate/tables/pipeline.h"

#include <fstream>
#include <gtest/gtest.h>

#include "gate/explain.h"
#include "gate/file.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

std::string pipeline_gate_with(const std::string& pipeline, const std::string& more = "",
                               const std::string& model = "kind = \"transformer\"") {
  return "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"dp\"]\n[model]\n" + model +
         "\nlayers = 4\n[parallel]\npipeline = { " + pipeline + " }\n" + more +
         "\n[train]\nsteps = 2\nmicro_batches = 4\n[expect]\nsame_as = [\"single_device\"]\n";
}

GatePipeline pipeline_of(const std::string& keys) {
  return *gate_from_text(pipeline_gate_with(keys), "g.toml").parallel.pipeline;
}

TEST(GatePipeline, HasPyTorchsNames) {
  EXPECT_EQ(pipeline_of("").schedule, "1F1B");
  EXPECT_EQ(pipeline_of("").stages, 1);
  for (const std::string& schedule : pipeline_schedules())
    EXPECT_EQ(pipeline_of("schedule = \"" + schedule + "\"").schedule, schedule);
  EXPECT_EQ(pipeline_of("schedule = \"LoopedBFS\"").stages, 2);
  EXPECT_EQ(pipeline_of("blocks = [0, 4]").blocks, (std::vector<std::int64_t>{0, 4}));
}

// The text of --explain must read back as the same gate.
TEST(GatePipeline, ExplainsItself) {
  GateFile gate = gate_from_text(
      pipeline_gate_with("schedule = \"LoopedBFS\", blocks = [1, 1, 2, 0], sends = \"buffered\", "
                         "max_outstanding_sends = 2, defer_pp_recv = true"),
      "g.toml");
  std::string text = explain(gate);
  EXPECT_NE(text.find("blocks = [1, 1, 2, 0]"), text.npos) << text;
  EXPECT_EQ(explain(gate_from_text(text, "g.toml")), text);
}

TEST(GatePipeline, SaysWhyItRefuses) {
  auto refuses = [](const std::string& pipeline, const char* reason, const std::string& more = "",
                    const std::string& model = "kind = \"transformer\"") {
    testing::expect_refused(pipeline_gate_with(pipeline, more, model), reason);
  };
  refuses("schedule = \"2F2B\"", "'parallel.pipeline.schedule'");
  refuses("schedule = \"ForwardOnly\"", "'parallel.pipeline.schedule'");
  refuses("schedule = \"none.csv\"", "a file with a row of actions");
  refuses("stages = 2", "1 stage a rank, as 1F1B has it");
  refuses("schedule = \"ZBVZeroBubble\", stages = 1", "requires exactly 2 stages per rank");
  refuses("schedule = \"LoopedBFS\", stages = 3", "at most 4 stages for the 4 blocks");
  refuses("blocks = [1, 2]", "stages that have the 4 blocks of the model, got 1 + 2");
  refuses("blocks = [4]", "a number of blocks for each of 2 stages");
  refuses("", "without dropout", "", "kind = \"transformer\"\ndropout = 0.5");
  refuses("", "a dim of its own", "replicate = { mesh = \"pp\" }");
  refuses("", "DeepSpeed refuses it", "zero = { mesh = \"dp\", stage = 2 }");
  refuses("", "once a step", "fsdp = { mesh = \"dp\", sync = \"every\" }");
  refuses("", "ends the backward pass", "fsdp = { mesh = \"dp\", finalize_backward = \"manual\" }");
  refuses("", "when a stage is resharded",
          "fsdp = { mesh = \"dp\", reshard_after_backward = false }");
  testing::expect_refused(
      pipeline_gate_with("", "[checkpoint]", "kind = \"transformer\"\ntied_head = true"),
      "a model without tied_head");
  testing::expect_refused(
      "[mesh]\nshape = [4]\n[model]\nkind = \"linear_stack\"\nlayers = 4\n[parallel]\npipeline = "
      "{}\n"
      "[train]\nmicro_batches = 2\n[expect]\nsame_as = [\"single_device\"]\n",
      "a schedule that takes 2 micro-batches, got 1F1B");
}

// Stages send what the part before them gives, in the dtype of mixed precision.
TEST(PipelinePlan, KnowsWhatStagesSend) {
  GateFile gate =
      gate_from_text(pipeline_gate_with("blocks = [1, 3]", "", "kind = \"moe\""), "g.toml");
  nn::ModelNode node = model_node(gate.model, gate.model_use());
  PipelinePlan plan = pipeline_plan(*gate.parallel.pipeline, {.model = node,
                                                              .ranks = 2,
                                                              .micro_batches = 4,
                                                              .row = {8},
                                                              .has_tokens = true,
                                                              .sent_dtype = DType::bfloat16});
  ASSERT_EQ(plan.boundaries.size(), 2u);
  EXPECT_EQ(plan.boundaries[0],
            (pipeline::TensorMetas{{{1, 8, 16}, DType::bfloat16, /*requires_grad=*/true}}));
  EXPECT_EQ(plan.stages.stage_of("block1.mlp"), 1);
}

}  // namespace
}  // namespace simmesh
