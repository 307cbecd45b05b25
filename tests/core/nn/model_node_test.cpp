#include "core/nn/model_node.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh::nn {
namespace {

using simmesh::testing::error_text;

ModelNode node(std::string name, std::string kind,
               std::map<std::string, ModelNode::Field> fields = {},
               std::vector<ModelNode> children = {}) {
  return {std::move(name), std::move(kind), std::move(fields), std::move(children)};
}

ModelNode linear(std::string name, std::int64_t in, std::int64_t out) {
  return node(std::move(name), "linear", {{"in", in}, {"out", out}, {"bias", true}});
}

ModelNode transformer_block() {
  return node("b", "block", {},
              {node("norm1", "layer_norm", {{"dim", std::int64_t(8)}}),
               node("attn", "attention",
                    {{"dim", std::int64_t(8)}, {"heads", std::int64_t(2)}, {"causal", true}}),
               node("norm2", "rms_norm", {{"dim", std::int64_t(8)}, {"eps", 1e-6}}),
               node("mlp", "sequential", {},
                    {linear("up", 8, 16), node("act", "gelu"), linear("down", 16, 8)})});
}

std::string message_of(const ModelNode& wrong) {
  return error_text([&] { build(wrong); });
}

TEST(ModelNode, BuildsTheParametersOfItsTree) {
  ModulePtr model = build(transformer_block());
  std::string names;
  for (auto& [name, tensor] : model->named_parameters()) names += name + " ";
  EXPECT_EQ(names,
            "norm1.weight norm1.bias attn.wq.weight attn.wk.weight attn.wv.weight attn.wo.weight "
            "norm2.weight mlp.up.weight mlp.up.bias mlp.down.weight mlp.down.bias ");
  Tensor y = (*model)(formula({2, 5, 8}, {.rule = Rule::unit, .seed = 1}));
  EXPECT_EQ(y.shape(), (Shape{2, 5, 8}));
}

// A causal position must not see later ones.
TEST(ModelNode, CausalAttentionIgnoresWhatComesLater) {
  ModulePtr model = build(transformer_block());
  Tensor x = formula({1, 5, 8}, {.rule = Rule::unit, .seed = 1});
  Tensor changed = x.clone();
  changed.mutable_values<float>()[4 * 8] += 1;
  Tensor a = (*model)(x).detach(), b = (*model)(changed).detach();
  EXPECT_TRUE(same_bits(a.narrow({1, 0, 4}), b.narrow({1, 0, 4})));
  EXPECT_FALSE(same_bits(a.narrow({1, 4, 1}), b.narrow({1, 4, 1})));
}

TEST(ModelNode, CheckpointedNodesGiveTheSameGradients) {
  Tensor x = formula({2, 5, 8}, {.rule = Rule::unit, .seed = 1});
  auto gradients = [&](bool checkpointed) {
    ModelNode block = transformer_block();
    if (checkpointed) block.fields["ac"] = true;
    ModulePtr model = build(block);
    std::uint64_t seed = 0;
    for (Tensor& parameter : std::vector(model->parameters())) {
      Tensor data = parameter.detach();
      copy_(data, formula(data.shape(), {.rule = Rule::unit, .seed = seed++, .scale = 0.5}));
    }
    backward(sum((*model)(x)));
    std::vector<Tensor> result;
    for (const Tensor& parameter : model->parameters()) result.push_back(grad_of(parameter));
    return result;
  };
  std::vector<Tensor> plain = gradients(false), again = gradients(true);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same_bits(plain[i], again[i])) << i;
}

TEST(ModelNode, ContainersFollowTheirCalls) {
  ModelNode twice = node("", "sequential", {{"calls", std::vector<std::string>{"a", "a"}}},
                         {linear("a", 2, 2), linear("unused", 2, 2)});
  ModulePtr model = build(twice);
  Tensor x = formula({1, 2}, {.seed = 1});
  EXPECT_TRUE(same_bits((*model)(x), model->child("a")(model->child("a")(x))));
  ModulePtr sum = build(node("", "add", {}, {linear("a", 2, 2), linear("b", 2, 2)}));
  EXPECT_TRUE(same_bits((*sum)(x), add(sum->child("a")(x), sum->child("b")(x))));
  ModulePtr both = build(node("", "fan", {}, {linear("a", 2, 2), linear("b", 2, 3)}));
  EXPECT_EQ(both->call({x}).size(), 2u);
  EXPECT_THROW(build(node("", "module_list"))->call({x}), Error);
}

TEST(ModelNode, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(message_of(node("m", "linar")).find("node 'm': expected a kind of add, attention"),
            std::string::npos);
  EXPECT_NE(
      message_of(node("", "sequential", {}, {node("x", "linear")})).find("expected the field 'in'"),
      std::string::npos);
  EXPECT_NE(message_of(node("m", "relu", {{"slope", 0.5}})).find("got 'slope'"), std::string::npos);
  EXPECT_NE(message_of(node("m", "linear", {{"in", 0.5}})).find("of another type"),
            std::string::npos);
  EXPECT_NE(
      message_of(node("m", "attention", {{"dim", std::int64_t(6)}, {"heads", std::int64_t(4)}}))
          .find("heads that divide"),
      std::string::npos);
}

TEST(ModelNode, BuildsConvolutionsAndDropout) {
  ModulePtr conv = build(node("", "conv2d",
                              {{"in", std::int64_t(2)},
                               {"out", std::int64_t(3)},
                               {"size", std::int64_t(3)},
                               {"padding", std::int64_t(1)},
                               {"stride", std::int64_t(2)}}));
  EXPECT_EQ((*conv)(formula({1, 2, 6, 6}, {.seed = 1})).shape(), (Shape{1, 3, 3, 3}));
  ModulePtr dropout = build(node("", "dropout", {{"p", 0.5}}));
  Tensor x = full({1000}, DType::float32, 1), y = (*dropout)(x);
  std::int64_t kept = 0;
  for (float value : y.values<float>()) kept += value == 2.0f;
  EXPECT_GT(kept, 400);
  EXPECT_LT(kept, 600);
  dropout->train(false);
  EXPECT_TRUE(same_bits((*dropout)(x), x));
}

// With one expert that takes all tokens, a mixture is that expert.
TEST(Moe, OfOneExpertIsTheExpert) {
  ModulePtr moe = build(node("", "moe",
                             {{"dim", std::int64_t(4)},
                              {"hidden", std::int64_t(6)},
                              {"experts", std::int64_t(1)},
                              {"top_k", std::int64_t(1)}}));
  Tensor x = formula({3, 4}, {.rule = Rule::unit, .seed = 1});
  Tensor expert = moe->find("experts.expert0")(x);
  EXPECT_TRUE(same_bits((*moe)(x), add(zeros({3, 4}, DType::float32), expert)));
}

// Beyond its capacity an expert takes no further tokens: they come out as zeros.
TEST(Moe, DropsTokensBeyondTheCapacity) {
  ModulePtr moe = build(node("", "moe",
                             {{"dim", std::int64_t(4)},
                              {"hidden", std::int64_t(6)},
                              {"experts", std::int64_t(2)},
                              {"top_k", std::int64_t(1)},
                              {"capacity_factor", 0.5}}));
  Tensor row = formula({1, 4}, {.rule = Rule::unit, .seed = 1});
  Tensor y = (*moe)(expand(row, {8, 4})).detach();  // all want the same expert; it takes two
  EXPECT_FALSE(same_bits(y.narrow({0, 1, 1}), zeros({1, 4}, DType::float32)));
  EXPECT_TRUE(same_bits(y.narrow({0, 2, 6}), zeros({6, 4}, DType::float32)));
}

}  // namespace
}  // namespace simmesh::nn
