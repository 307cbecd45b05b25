#include "sharding/debug/module_tracker.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/nn/containers.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

// Notes where the rank is when it runs, forward and backward, and passes its input on.
struct Note final : nn::Module {
  nn::Tensors forward(const nn::Tensors& in) override {
    note();
    Tensor out = in[0].detach();
    record_function("note", {in[0]}, {&out}, [this](const std::vector<Tensor>& gradients) {
      note();
      return gradients;
    });
    return {out};
  }
  void note() const {
    if (tracker && notes) notes->push_back(to_string(tracker->where()));
  }

  const ModuleTracker* tracker = nullptr;
  std::vector<std::string>* notes = nullptr;
};

// Modules in modules are mixed up, or the tape changes by being watched.
TEST(ModuleTracker, KnowsTheInnermostModuleInBothPasses) {
  auto first = std::make_shared<Note>(), second = std::make_shared<Note>();
  nn::Sequential model(
      {{"a", first},
       {"inner", std::make_shared<nn::Sequential>(std::vector<nn::NamedModule>{{"b", second}})}});
  std::vector<std::string> notes;
  auto tracker = std::make_unique<ModuleTracker>(model);
  for (auto& one : {first, second}) {
    one->tracker = tracker.get();
    one->notes = &notes;
  }
  EXPECT_EQ(to_string(tracker->where()), "(outside)");
  Tensor x = formula({3}, {.rule = Rule::small, .seed = 1});
  set_requires_grad(x);
  Tensor y = model(x), upstream = formula({3}, {.rule = Rule::small, .seed = 2});
  EXPECT_EQ(to_string(tracker->where()), "(outside)");
  backward(y, {.gradients = {upstream}});
  EXPECT_EQ(notes, (std::vector<std::string>{"a forward", "inner.b forward", "inner.b backward",
                                             "a backward"}));
  EXPECT_EQ(to_string(tracker->where()), "(outside)");
  EXPECT_TRUE(same_bits(grad_of(x), upstream));
  for (auto& one : {first, second}) one->tracker = nullptr;
  tracker.reset();
  EXPECT_TRUE(same_bits(model(x).detach(), x.detach()));
}

}  // namespace
}  // namespace simmesh
