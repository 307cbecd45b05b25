#include "training/pipelined/stage_plan.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

nn::ModelNode leaf(const std::string& name, const std::string& kind) {
  return {name, kind, {{"in", std::int64_t(2)}, {"out", std::int64_t(2)}}, {}};
}

// A model of a layer, three layers in a container, each after an activation, and a layer.
nn::ModelNode stack() {
  nn::ModelNode root{"", "sequential", {}, {}};
  for (const char* name : {"a", "b", "c"}) {
    root.children.push_back({std::string("act_") + name, "relu", {}, {}});
    root.children.push_back(leaf(name, "linear"));
  }
  root.children.push_back({"end", "relu", {}, {}});
  return root;
}

std::vector<std::int64_t> stages_of(const StagePlan& plan) {
  std::vector<std::int64_t> stages;
  for (const StagePlan::Part& part : plan.parts) stages.push_back(part.stage);
  return stages;
}

nn::ModelNode block(const std::string& name) {
  return {name,
          "block",
          {},
          {{"norm1", "identity", {}, {}},
           leaf("attn", "linear"),
           {"norm2", "identity", {}, {}},
           {"mlp", "identity", {}, {}}}};
}

// Parts before the first block are in the first stage, and those after the last one in the last.
TEST(StagePlan, CutsBeforeBlocks) {
  EXPECT_EQ(block_count(stack()), 3);
  EXPECT_EQ(stages_of(plan_stages(stack(), {2, 1})),
            (std::vector<std::int64_t>{0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(stages_of(plan_stages(stack(), {1, 1, 1})),
            (std::vector<std::int64_t>{0, 0, 0, 1, 1, 2, 2}));
}

// Blocks in a plain container are cut like others; paths name them.
TEST(StagePlan, CutsBetweenBlocksInContainers) {
  nn::ModelNode root{"", "sequential", {}, {leaf("embed", "linear")}};
  root.children.push_back({"layers", "sequential", {}, {block("0"), block("1")}});
  root.children.push_back(leaf("head", "linear"));
  StagePlan plan = plan_stages(root, {1, 1});
  EXPECT_EQ(stages_of(plan), (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(stages_of(plan_stages(root, {0, 2, 0})), (std::vector<std::int64_t>{0, 1, 1, 2}));
  EXPECT_EQ(plan.stage_of("layers.1.attn.wq.weight"), 1);
  EXPECT_TRUE(plan.has(1, "layers") && plan.has(0, "layers") && plan.has(1, ""));
  EXPECT_FALSE(plan.has(0, "layers.1") || plan.has(1, "embed.weight"));
}

// A cut that loses a block would train another model.
TEST(StagePlan, RefusesOtherSumsAndEmptyStages) {
  EXPECT_EQ(even_cut(5, 3), (std::vector<std::int64_t>{2, 2, 1}));
  expect_error(
      [] {
        plan_stages(stack(), {2, 2});
      },
      ErrorKind::value_error, "expected stages that have the 3 blocks of the model, got 2 + 2");
  expect_error(
      [] {
        plan_stages(stack(), {1, 0, 2});
      },
      ErrorKind::value_error, "got none in stage 1");
  nn::ModelNode residual{"", "residual", {}, {leaf("a", "linear")}};
  EXPECT_EQ(block_count(residual), 0);
}

}  // namespace
}  // namespace simmesh
