#include "training/pipelined/rank_stages.h"

#include <gtest/gtest.h>

#include "core/tensor/tensor.h"
#include "tests/training/pipelined/plain_layer.h"

namespace simmesh {
namespace {

using testing::plain_layer;

// Three layers, of which the last one has the weight of the first one.
TrainingModel three_layers() {
  TrainingModel model;
  model.node = {
      "", "sequential", {}, {plain_layer("a", 2), plain_layer("b", 2), plain_layer("c", 2)}};
  model.tied = {{"c.weight", "a.weight"}};
  for (const char* name : {"a.weight", "b.weight"})
    model.parameters.push_back(
        {name, {2, 2}, {.rule = Rule::unit, .seed = std::uint64_t(model.parameters.size() + 1)}});
  return model;
}

bool are_equal_bits(const Tensor& a, const Tensor& b) { return same_bits(a.detach(), b.detach()); }

// A copy of a tied parameter has the values of the original, and paths are those of the model.
TEST(RankStages, HaveTheirPartsUnderTheirPaths) {
  TrainingModel model = three_layers();
  StagePlan plan = plan_stages(model.node, {1, 1, 1});
  nn::ModulePtr whole = build_model(model);
  RankStages ends(model, plan, {0, 2}), middle(model, plan, {1});
  ASSERT_EQ(ends.stages().size(), 2u);
  EXPECT_EQ(&middle.all(), middle.stages()[0].get());
  EXPECT_EQ(ends.all().named_parameters().size(), 2u);
  for (const char* name : {"a", "c"})
    EXPECT_TRUE(are_equal_bits(ends.all().find(name).parameter("weight"),
                               whole->find("a").parameter("weight")));
  EXPECT_TRUE(nn::is_same_tensor(ends.all().find("c").parameter("weight"),
                                 ends.stages()[1]->find("c").parameter("weight")));
  EXPECT_FALSE(nn::is_same_tensor(ends.all().find("a").parameter("weight"),
                                  ends.all().find("c").parameter("weight")));
  std::vector<TiedCopy> copies = tied_copies(model, plan);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].copy + " of " + copies[0].original, "c.weight of a.weight");
}

// In one stage a tied parameter is one tensor.
TEST(RankStages, TieWithinAStage) {
  TrainingModel model = three_layers();
  StagePlan plan = plan_stages(model.node, {3});
  RankStages all(model, plan, {0});
  EXPECT_TRUE(tied_copies(model, plan).empty());
  EXPECT_TRUE(nn::is_same_tensor(all.all().find("a").parameter("weight"),
                                 all.all().find("c").parameter("weight")));
}

}  // namespace
}  // namespace simmesh
