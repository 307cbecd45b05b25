#include "gate/tables/moe.h"

#include <gtest/gtest.h>

#include "gate/explain.h"
#include "gate/file.h"
#include "gate/run_gate.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

struct MoeGate {
  std::string model = "";
  std::string experts = "6";
  std::string mesh = "shape = [2, 2]\nnames = [\"dp\", \"ep\"]\n";
  std::string parallel = "expert = {}\nreplicate = {}\n";
  std::string train = "steps = 2\nmicro_batches = 2\n";

  std::string text() const {
    return "[mesh]\n" + mesh +
           "[model]\nkind = \"moe\"\nlayers = 1\nwidth = 8\nhidden = 6\nvocabulary = 11\n"
           "experts = " +
           experts + "\ninit = { scale = 0.4, seed = 3 }\n" + model +
           "[data]\nbatch = 14\nsequence = 4\n[parallel]\n" + parallel + "[train]\n" + train +
           "optimizer = { kind = \"adamw\" }\nclip_grad_norm = 0.1\n[arithmetic]\nmode = "
           "\"exact\"\n[expect]\nsame_as = [\"single_device\"]\nschedules = 3\n";
  }
};

constexpr std::string_view all_keys =
    "shared = 1\ncapacity_factor = 0.5\ndrop = \"probability\"\nscore = \"sigmoid\"\n"
    "normalize = false\nscaling = 2.5\ngroups = 3\ntop_groups = 2\naux_loss = 0.01\n"
    "z_loss = 0.001\nbias_rate = 0.25\n";

TEST(GateMoe, ReadsItsKeys) {
  GateFile gate = gate_from_text(MoeGate{.model = std::string(all_keys)}.text(), "a.toml");
  const GateMoe& moe = gate.model.moe;
  EXPECT_EQ(moe.shared, 1);
  EXPECT_EQ(moe.capacity_factor, 0.5);
  EXPECT_EQ(moe.router.drop, nn::DropOrder::probability);
  EXPECT_EQ(moe.router.score, nn::RouterScore::sigmoid);
  EXPECT_FALSE(moe.router.normalizes);
  EXPECT_EQ(moe.router.scaling, 2.5);
  EXPECT_EQ(moe.router.groups, 3);
  EXPECT_EQ(moe.router.top_groups, 2);
  EXPECT_EQ(moe.router.aux_loss, 0.01);
  EXPECT_EQ(moe.router.z_loss, 0.001);
  EXPECT_EQ(moe.router.bias_rate, 0.25);
}

// The printed gate reads as the same gate, and prints the same.
TEST(GateMoe, ExplainsItsKeys) {
  std::string shown =
      explain(gate_from_text(MoeGate{.model = std::string(all_keys)}.text(), "a.toml"));
  for (const char* key : {"drop = \"probability\"", "top_groups = 2", "bias_rate = 0.25"})
    EXPECT_NE(shown.find(key), std::string::npos) << shown;
  EXPECT_EQ(explain(gate_from_text(shown, "a.toml")), shown);
}

// A node has the fields that aren't at their defaults, so that a model without these keys is the
// model that it was.
TEST(GateMoe, AddsFieldsToItsNode) {
  nn::ModelNode node;
  add_router_fields({}, node);
  EXPECT_TRUE(node.fields.empty());
  add_router_fields({.router = {.aux_loss = 0.5}}, node);
  EXPECT_EQ(std::get<double>(node.fields.at("aux_loss")), 0.5);
  TomlTable table("model");
  add_gate_moe({.shared = 2}, table);
  EXPECT_NE(table.text().find("shared = 2"), std::string::npos);
}

TEST(GateMoe, RefusesWhatDoesNotFit) {
  auto expect_bad = [](const std::string& model, std::string_view words) {
    testing::expect_refused(MoeGate{.model = model}.text(), words);
  };
  expect_bad("groups = 4\n", "a divisor of the 6 experts, got 4");
  expect_bad("groups = 2\ntop_groups = 3\n", "at most 2 groups, with at least 2 experts of 3 each");
  expect_bad("groups = 6\ntop_groups = 1\n", "at least 2 experts of 1 each, got 1");
  expect_bad("drop = \"last\"\n", "one of choice, position, probability, none");
  expect_bad("score = \"tanh\"\n", "one of softmax, sigmoid");
  expect_bad("aux_loss = 1\ndropout = 0.5\n", "1 in a model with dropout, where experts have");
  testing::expect_refused("[model]\nkind = \"transformer\"\nz_loss = 1\n",
                          "expected a known key, got 'model.z_loss'");
}

void expect_moe_on_one_device(const MoeGate& gate) {
  for (const GateCheck& check : run_gate(gate_from_text(gate.text(), "a.toml"), {}).checks)
    EXPECT_TRUE(check.passed) << gate.text() << check.name << ": " << check.actual;
}

// Every key under every cut: the loss, the gradients and the biases are those of one device.
TEST(GateMoe, IsOneDeviceUnderEveryCut) {
  const std::string deep = "shape = [2, 2]\nnames = [\"cp\", \"ep\"]\n";
  for (const std::string& model :
       {std::string(all_keys), std::string("capacity_factor = 0.5\naux_loss = 0.1\n"),
        std::string("capacity_factor = 0.75\ndrop = \"position\"\nz_loss = 0.1\n")}) {
    expect_moe_on_one_device({.model = model});
    expect_moe_on_one_device(
        {.model = model, .parallel = "fsdp = { mesh = \"dp\" }\nexpert = {}\n"});
    expect_moe_on_one_device(
        {.model = model, .parallel = "fsdp = { mesh = [\"dp\", \"ep\"] }\nexpert = {}\n"});
    expect_moe_on_one_device({.model = model,
                              .mesh = deep,
                              .parallel = "expert = {}\ncontext = { mesh = \"cp\" }\n",
                              .train = "steps = 2\n"});
    expect_moe_on_one_device(
        {.model = model, .mesh = "shape = [2]\n", .parallel = "tensor = {}\n"});
    expect_moe_on_one_device(
        {.model = model,
         .mesh = "shape = [2]\n",
         .parallel = "replicate = {}\nactivation_checkpointing = \"blocks\"\n"});
  }
}

// ZeRO keeps the plan of a step apart from the fetches of its micro-batches. All experts have
// tokens on each rank: ZeRO has no gradient for a part of the ranks.
TEST(GateMoe, IsOneDeviceUnderZero) {
  for (int stage : {0, 1, 2, 3})
    expect_moe_on_one_device({.model =
                                  "shared = 1\ncapacity_factor = 0.75\ndrop = \"probability\"\n"
                                  "aux_loss = 0.1\nz_loss = 0.1\nbias_rate = 0.25\n",
                              .experts = "2",
                              .mesh = "shape = [2]\n",
                              .parallel = "zero = { stage = " + std::to_string(stage) + " }\n"});
}

}  // namespace
}  // namespace simmesh
