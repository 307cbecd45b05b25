#include <gmock/gmock.h>

#include "gate/gate_file.h"

namespace simmesh {
namespace {

TrainingModel model_of(const std::string& text) {
  GateFile gate = gate_from_text(text, "g.toml");
  return training_model(gate.model, gate.model_use());
}

std::vector<std::string> names_of(const TrainingModel& model) {
  std::vector<std::string> names;
  for (const ParameterData& parameter : model.parameters) names.push_back(parameter.name);
  return names;
}

// Failures show these names, so they must not change unnoticed.
TEST(GateModel, NamesItsParameters) {
  using ::testing::ElementsAre;
  EXPECT_THAT(names_of(model_of("[model]\nkind = \"mlp\"\n")),
              ElementsAre("fc0.weight", "fc0.bias", "fc1.weight", "fc1.bias"));
  EXPECT_THAT(names_of(model_of("[model]\nkind = \"linear_stack\"\nbias = false\n")),
              ElementsAre("fc0.weight", "fc1.weight"));
  EXPECT_THAT(
      names_of(model_of("[model]\nkind = \"transformer\"\nlayers = 1\nnorm = \"rms_norm\"\n")),
      ElementsAre("embed.weight", "pos.weight", "block0.norm1.weight", "block0.attn.wq.weight",
                  "block0.attn.wk.weight", "block0.attn.wv.weight", "block0.attn.wo.weight",
                  "block0.norm2.weight", "block0.mlp.fc1.weight", "block0.mlp.fc1.bias",
                  "block0.mlp.fc2.weight", "block0.mlp.fc2.bias", "norm.weight", "head.weight"));
  EXPECT_THAT(names_of(model_of("[model]\nkind = \"moe\"\nlayers = 1\n")),
              ::testing::Contains("block0.mlp.experts.expert3.fc2.weight"));
}

// Norms start near one, everything else at the values of the formula, each parameter with its own
// seed.
TEST(GateModel, GivesEachParameterItsValues) {
  TrainingModel model =
      model_of("[model]\nkind = \"transformer\"\ninit = { scale = 0.5, seed = 10 }\n");
  EXPECT_EQ(model.parameters[1].data.seed, 11u);
  EXPECT_EQ(model.parameters[1].scale, 0.5);
  for (const ParameterData& parameter : model.parameters) {
    bool is_norm = parameter.name.find("norm") != std::string::npos &&
                   parameter.name.find("weight") != std::string::npos;
    EXPECT_EQ(parameter.offset, is_norm ? 1.0 : 0.0) << parameter.name;
  }
}

TEST(GateModel, ChecksPointsItsBlocks) {
  GateFile gate = gate_from_text(
      "[model]\nkind = \"transformer\"\n[parallel]\nactivation_checkpointing = \"blocks\"\n", "g");
  nn::ModelNode node = model_node(gate.model, gate.model_use());
  EXPECT_TRUE(std::get<bool>(node.children[2].fields.at("ac")));
  EXPECT_TRUE(has_kind(node, "attention"));
  EXPECT_FALSE(has_kind(node, "moe"));
}

TEST(GateModel, ReadsNodes) {
  GateFile gate = gate_from_text(R"([model]
nodes = [{ name = "r", kind = "residual", calls = ["a", "a"], children = [
  { name = "a", kind = "linear", in = 16, out = 16, bias = false }] }]
)",
                                 "g");
  ASSERT_EQ(gate.model.nodes.size(), 1u);
  EXPECT_EQ(gate.model.nodes[0].children[0].name, "a");
  EXPECT_THAT(names_of(training_model(gate.model, gate.model_use())),
              ::testing::ElementsAre("r.a.weight"));
}

}  // namespace
}  // namespace simmesh
