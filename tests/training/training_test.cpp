#include "training/training.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh {
namespace {

TEST(Training, NeedsValuesForEveryParameter) {
  TrainingModel model;
  model.node = {"", "linear", {{"in", std::int64_t(2)}, {"out", std::int64_t(3)}}, {}};
  EXPECT_THROW(build_model(model), Error);
  model.parameters = {{"weight", {3, 2}, {.seed = 1}}, {"bias", {2}, {.seed = 2}}};
  EXPECT_THROW(build_model(model), Error);
  model.parameters[1].shape = {3};
  EXPECT_EQ(build_model(model)->parameters().size(), 2u);
}

TEST(Training, TiesAndFreezes) {
  TrainingModel model;
  nn::ModelNode linear{
      "", "linear", {{"in", std::int64_t(2)}, {"out", std::int64_t(2)}, {"bias", false}}, {}};
  model.node = {"", "sequential", {}, {linear, linear, linear}};
  for (std::size_t i = 0; i < 3; ++i) model.node.children[i].name = std::string(1, char('a' + i));
  model.tied = {{"b.weight", "a.weight"}};
  model.frozen = {"c.weight"};
  model.parameters = {{"a.weight", {2, 2}, {.seed = 1}, 0.5, 0.25}, {"c.weight", {2, 2}, {}}};
  nn::ModulePtr built = build_model(model);
  EXPECT_TRUE(nn::is_same_tensor(built->find("a").parameter("weight"),
                                 built->find("b").parameter("weight")));
  EXPECT_FALSE(built->find("c").parameter("weight").requires_grad());
  Tensor values = parameter_values(model.parameters[0], DType::float32);
  float first = formula({2, 2}, {.seed = 1}).values<float>()[0];
  EXPECT_EQ(values.values<float>()[0], first * 0.5f + 0.25f);
}

}  // namespace
}  // namespace simmesh
