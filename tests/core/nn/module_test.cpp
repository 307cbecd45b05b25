#include "core/nn/module.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/world.h"
#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh::nn {
namespace {

using simmesh::testing::error_text;

ModulePtr two_layers() {
  return std::make_shared<Sequential>(
      std::vector<NamedModule>{{"a", std::make_shared<Linear>(Linear::Options{3, 4})},
                               {"b", std::make_shared<Linear>(Linear::Options{4, 2, false})}});
}

std::vector<std::string> names_of(Module& module) {
  std::vector<std::string> names;
  for (auto& [name, tensor] : module.named_parameters()) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Module, NamesParametersDepthFirstInOrderOfRegistration) {
  EXPECT_EQ(names_of(*two_layers()), (Names{"a.weight", "a.bias", "b.weight"}));
}

TEST(Module, RefusesUnknownAndRepeatedNames) {
  ModulePtr model = two_layers();
  EXPECT_THROW(model->find("a.c"), Error);
  EXPECT_THROW(model->find("a").parameter("gain"), Error);
  EXPECT_THROW(Sequential({{"a", two_layers()}, {"a", two_layers()}}), Error);
  EXPECT_THROW(Sequential({{"a.b", two_layers()}}), Error);
  EXPECT_THROW(Sequential({{"a", two_layers()}}, {"b"}), Error);
}

// Once the program lets go of a module, its parents alone own it.
TEST(Module, ASharedModuleIsNamedOnceWithAllBelow) {
  auto model = [] {
    ModulePtr shared = two_layers();
    return std::make_shared<Sequential>(std::vector<NamedModule>{{"x", shared}, {"y", shared}});
  }();
  Names names;
  for (const auto& [name, module] : model->named_modules()) names.push_back(name);
  EXPECT_EQ(names, (Names{"", "x", "x.a", "x.b"}));
  EXPECT_EQ(names_of(*model), (Names{"x.a.weight", "x.a.bias", "x.b.weight"}));
  EXPECT_EQ(model->parameters().size(), 3u);
}

TEST(Module, TiedParametersComeOnceAndGetOneGradient) {
  auto a = std::make_shared<Linear>(Linear::Options{3, 3, false});
  auto b = std::make_shared<Linear>(Linear::Options{3, 3, false});
  b->set_parameter("weight", a->parameter("weight"));
  Sequential model({{"a", a}, {"b", b}});
  EXPECT_EQ(names_of(model), (Names{"a.weight"}));
  EXPECT_EQ(model.state_dict().size(), 2u);
  backward(sum(model(formula({2, 3}, {.seed = 1}))));
  EXPECT_TRUE(same_bits(grad_of(a->parameter("weight")), grad_of(b->parameter("weight"))));
  model.to(DType::float64);
  EXPECT_TRUE(is_same_tensor(a->parameter("weight"), b->parameter("weight")));
}

TEST(Module, HooksRunAroundForwardAndMayReplaceWhatPasses) {
  ModulePtr model = two_layers();
  std::string order;
  model->add_pre_hook([&](Module&, const Tensors& inputs) {
    order += "before ";
    return Tensors{mul(inputs[0], 0.0)};
  });
  model->find("a").add_hook([&](Module& module, const Tensors&, const Tensors& outputs) {
    EXPECT_TRUE(same_bits(outputs[0].narrow({0, 0, 1}).squeeze(0), module.parameter("bias")));
    order += "a ";
    return outputs;
  });
  model->add_hook([&](Module&, const Tensors&, const Tensors& outputs) {
    order += "after";
    return Tensors{mul(outputs[0], 2.0)};
  });
  (*model)(formula({1, 3}, {.seed = 1}));
  EXPECT_EQ(order, "before a after");
}

TEST(Module, StateDictsAliasParametersAndLoadBack) {
  ModulePtr from = two_layers(), to = two_layers();
  StateDict state = from->state_dict();
  EXPECT_EQ(state[0].second.storage(), from->find("a").parameter("weight").storage());
  to->load_state_dict(state);
  EXPECT_TRUE(same_bits(to->find("b").parameter("weight"), from->find("b").parameter("weight")));
  state[0].first = "a.gain";
  state[1].second = zeros({9}, DType::float32);
  std::string text = error_text([&] { to->load_state_dict(state); });
  for (const char* part :
       {"missing key a.weight", "size mismatch for a.bias: [9]", "unexpected key a.gain"})
    EXPECT_NE(text.find(part), text.npos) << part;
}

TEST(Module, OnTheMetaDeviceHasShapesAndNoData) {
  Linear meta({3, 4, true, {.device = Device::meta}});
  EXPECT_TRUE(meta.parameter("weight").is_meta());
  EXPECT_THROW(meta.parameter("weight").data(), Error);
  Tensor y = meta(empty_meta(Dims{2, 3}, DType::float32));
  EXPECT_TRUE(y.is_meta());
  EXPECT_EQ(y.shape(), (Shape{2, 4}));
  meta.to_empty();
  EXPECT_FALSE(meta.parameter("weight").is_meta());
  EXPECT_TRUE(meta.parameter("weight").requires_grad());
}

TEST(Module, GradientsCanBeSwitchedOffAndDropped) {
  ModulePtr model = two_layers();
  backward(sum((*model)(formula({2, 3}, {.seed = 1}))));
  model->zero_grad();
  EXPECT_FALSE(grad_of(model->find("a").parameter("weight")).is_defined());
  model->set_requires_grad(false);
  EXPECT_FALSE((*model)(formula({2, 3}, {.seed = 1})).requires_grad());
}

// If this fails, a module's extension doesn't see that its parameters are used, or a parameter
// registered in a scope isn't the one that the scope returned.
TEST(Module, ParametersAreReadAndAdopted) {
  struct Reads final : ModuleExtension {
    void parameter_read(const Module&, const ParameterSlot& slot) override {
      names.push_back(slot.name);
    }
    Names names;
  };
  std::vector<std::string> adopted;
  ModulePtr made;
  {
    ParameterAdoption outer([](Module&, const std::string&, const Tensor&) { return Tensor(); });
    ParameterAdoption scope([&](Module&, const std::string& name, const Tensor& parameter) {
      EXPECT_TRUE(parameter.requires_grad());
      adopted.push_back(name);
      return name == "bias" ? zeros(parameter.shape(), parameter.dtype()) : parameter;
    });
    made = std::make_shared<Linear>(Linear::Options{3, 4});
  }
  EXPECT_EQ(adopted, (Names{"weight", "bias"}));
  auto reads = std::make_shared<Reads>();
  made->set_extension(reads);
  EXPECT_TRUE(same_bits(made->parameter("bias"), zeros({4}, DType::float32)));
  EXPECT_EQ(reads->names, Names{"bias"});
  EXPECT_TRUE(std::make_shared<Linear>(Linear::Options{3, 4})->parameter("bias").requires_grad());
}

// If this fails, a rank's memory isn't told apart into what forward and backward make.
TEST(Module, ChargesActivationsAndGradients) {
  World world({});
  Outcome outcome = world.run([](Rank& rank) {
    ModulePtr model = two_layers();
    Tensor x = formula({2, 3}, {.seed = 1});
    Tensor y = (*model)(x);
    const Ledger& ledger = rank.ledger();
    std::int64_t activations = ledger.of(MemoryCategory::activation).current;
    SIMMESH_CHECK(activations == 4 * (2 * 4 + 2 * 2), "{} bytes", activations);
    backward(sum(y));
    std::int64_t gradients = ledger.of(MemoryCategory::gradient).current;
    SIMMESH_CHECK(gradients == 4 * (4 * 3 + 4 + 2 * 4), "{} bytes", gradients);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh::nn
