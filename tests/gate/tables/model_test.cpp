#include <gmock/gmock.h>

#include "gate/file.h"

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

// Dropout follows activations, positions and blocks. A tied head has no weights of its own.
TEST(GateModel, HasDropoutAndATiedHead) {
  auto kinds_of = [](const std::string& text) {
    GateFile gate = gate_from_text(text, "g");
    std::vector<std::string> names;
    for (const nn::ModelNode& node : model_node(gate.model, gate.model_use()).children)
      names.push_back(node.name);
    return names;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(kinds_of("[model]\nkind = \"mlp\"\ndropout = 0.5\n"),
              ElementsAre("fc0", "act0", "drop0", "fc1"));
  EXPECT_THAT(kinds_of("[model]\nkind = \"transformer\"\nlayers = 1\ndropout = 0.5\n"),
              ElementsAre("embed", "pos", "drop", "block0", "drop0", "norm", "head"));
  TrainingModel tied = model_of("[model]\nkind = \"transformer\"\ntied_head = true\n");
  EXPECT_THAT(names_of(tied), ::testing::Not(::testing::Contains("head.weight")));
  EXPECT_EQ(tied.tied.size(), 1u);
  auto refused = [](const std::string& text) {
    try {
      gate_from_text(text, "g");
    } catch (const BadGate& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused("[model]\nkind = \"transformer\"\ntied_head = true\n[mesh]\nshape = [2]\n"
                      "[parallel]\ntensor = { sequence_parallel = true }\n"),
              ::testing::HasSubstr("tied_head': expected false with tensor.sequence_parallel"));
  EXPECT_THAT(refused("[model]\nkind = \"transformer\"\ndropout = 0.1\n[mesh]\nshape = [2]\n"
                      "[parallel]\ncontext = {}\n"),
              ::testing::HasSubstr("expected a model without dropout"));
  EXPECT_THAT(refused("[model]\nkind = \"mlp\"\ndropout = 1.0\n"), ::testing::HasSubstr("dropout"));
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
