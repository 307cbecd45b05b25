#include "zero/stage3/module_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "tests/expect_error.h"
#include "zero/stage3/leaf_modules.h"

namespace simmesh::zero {
namespace {

using ::testing::ElementsAre;

nn::ModulePtr linear_of(std::int64_t in, std::int64_t out) {
  return std::make_shared<nn::Linear>(nn::Linear::Options{.in = in, .out = out, .bias = false});
}

// root: first [2, 3], inner: (up [4, 2], tied to first).
nn::ModulePtr model_with_a_tie() {
  nn::ModulePtr first = linear_of(3, 2);
  nn::ModulePtr up = linear_of(2, 4), tied = linear_of(3, 2);
  tied->slots()[0].tensor = first->slots()[0].tensor;
  nn::ModulePtr inner =
      std::make_shared<nn::Sequential>(std::vector<nn::NamedModule>{{"up", up}, {"tied", tied}});
  return std::make_shared<nn::Sequential>(
      std::vector<nn::NamedModule>{{"first", first}, {"inner", inner}});
}

std::vector<std::string> module_names(const ModuleIndex& index) {
  std::vector<std::string> names;
  for (const auto& [name, module] : index.modules()) names.push_back(name);
  return names;
}

// If this fails, schedules name other modules and parameters than DeepSpeed's.
TEST(ModuleIndex, NumbersModulesInPreOrderAndParametersOnce) {
  nn::ModulePtr model = model_with_a_tie();
  ModuleIndex index(*model);
  EXPECT_THAT(module_names(index), ElementsAre("", "first", "inner", "inner.up", "inner.tied"));
  ASSERT_EQ(index.params().size(), 2u);
  EXPECT_EQ(index.params()[0].name, "first.weight");
  EXPECT_EQ(index.params()[0].places.size(), 2u);
  EXPECT_EQ(index.named("inner.up.weight"), 1);
  EXPECT_EQ(index.param_id(model->find("inner.tied").parameter("weight")), 0);
  EXPECT_EQ(index.module_id(model->find("inner.up")), 3);
  simmesh::testing::expect_error([&] { index.named("inner.tied.weight"); }, ErrorKind::key_error,
                                 "inner.tied.weight");
}

// If this fails, the coordinator gathers too late or too much for a module.
TEST(ModuleIndex, TheGraphHasWhatEachModuleNeeds) {
  nn::ModulePtr model = model_with_a_tie();
  FetchGraph graph = ModuleIndex(*model).graph(4);
  EXPECT_EQ(graph.param(0).shard_numel, 2);
  EXPECT_THAT(graph.module(0).below, ElementsAre(0, 1));
  EXPECT_THAT(graph.module(0).own, ElementsAre());
  EXPECT_THAT(graph.module(4).own, ElementsAre(0));
}

TEST(ModuleIndex, ModulesBelowALeafHaveNoNumber) {
  nn::ModulePtr model = model_with_a_tie();
  set_z3_leaf_module(model->find("inner"), true);
  ModuleIndex index(*model);
  EXPECT_THAT(module_names(index), ElementsAre("", "first", "inner"));
  EXPECT_EQ(index.module_id(model->find("inner.up")), -1);
}

// If this fails, small parameters are gathered again and again, or too many stay.
TEST(ModuleIndex, MarksSmallParametersWithinBothBounds) {
  nn::ModulePtr model = model_with_a_tie();
  ModuleIndex index(*model);
  index.mark_persistent(6, 100);
  EXPECT_TRUE(index.params()[0].is_persistent);
  EXPECT_FALSE(index.params()[1].is_persistent);
  index.mark_persistent(8, 7);
  EXPECT_TRUE(index.params()[0].is_persistent);
  EXPECT_FALSE(index.params()[1].is_persistent);
}

}  // namespace
}  // namespace simmesh::zero
