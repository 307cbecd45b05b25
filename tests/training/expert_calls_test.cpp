#include "training/expert_calls.h"

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/moe.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

// An expert that only other ranks use must count as used, and one that nobody uses as unused.
SIMMESH_TEST(ExpertCalls, AreThoseOfAllMembers, {.mesh = {2}}) {
  nn::Moe moe({.width = 2, .hidden = 2, .experts = 3, .top_k = 1});
  Tensor router = moe.child("router").parameter("weight").detach();
  copy_(router, tensor_of<float>({3, 2}, {1, 0, 0, 1, -1, -1}));
  ExpertCalls calls(moe);
  ASSERT_TRUE(calls.has_experts());
  float first = mesh.get_rank() == 0 ? 1 : 0;
  nn::Module& module = moe;
  module(tensor_of<float>({1, 2}, {first, 1 - first}));
  std::set<std::string> unused = calls.take_unused(ProcessGroup::world());
  EXPECT_EQ(unused,
            (std::set<std::string>{"experts.expert2.fc1.bias", "experts.expert2.fc1.weight",
                                   "experts.expert2.fc2.bias", "experts.expert2.fc2.weight"}));
  EXPECT_EQ(calls.take_unused(ProcessGroup::world()).size(), 12u);  // counted anew
}

// If a rank had no gradient of an expert that its tokens didn't choose, ranks would put other
// parameters into the same bucket.
SIMMESH_TEST(ExpertCalls, GiveEachRankAGradientOfEachExpert, {.mesh = {2}}) {
  nn::Moe moe({.width = 2, .hidden = 2, .experts = 3, .top_k = 1});
  moe.call_every_expert();
  ExpertCalls calls(moe);
  nn::Module& module = moe;
  std::int64_t rows = mesh.get_rank() == 0 ? 1 : 0;
  backward(sum(module(formula({rows, 2}, {.rule = Rule::wide, .seed = 3}))));
  for (const auto& [name, parameter] : moe.named_parameters())
    EXPECT_TRUE(grad_of(parameter).is_defined()) << name;
}

}  // namespace
}  // namespace simmesh
