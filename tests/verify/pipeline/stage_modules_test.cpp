#include "verify/pipeline/stage_modules.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

TrainingModel model_of(std::vector<nn::ModelNode> children) {
  TrainingModel model;
  model.node = {"", "sequential", {}, std::move(children)};
  return model;
}

// If this fails, a node of a recorded pipeline computes something else.
TEST(StageModules, BuildsNodesThatOnlyPipelinesHave) {
  TrainingModel model = model_of({{"gate", "gate", {}, {}},
                                  {"take", "take", {{"index", std::int64_t(1)}}, {}},
                                  {"sum", "sum", {}, {}},
                                  {"count", "counter", {}, {}},
                                  {"boom", "boom", {{"after", std::int64_t(1)}}, {}},
                                  {"dict", "dict", {}, {}}});
  auto build = [&](const std::string& name) { return build_stage_modules(model, {{name}})[0]; };
  Tensor x = tensor_of<float>({1, 4}, {1, 2, 3, 4}), y = tensor_of<float>({1, 4}, {1, 1, 1, 1});
  EXPECT_TRUE(same_bits(build("gate")->call({x})[0], tensor_of<float>({1, 2}, {3, 8})));
  EXPECT_TRUE(same_bits(build("take")->call({x, y})[0], y));
  EXPECT_TRUE(same_bits(build("sum")->call({x, y})[0], tensor_of<float>({1, 4}, {2, 3, 4, 5})));
  nn::ModulePtr counter = build("count");
  EXPECT_TRUE(same_bits(counter->call(counter->call({x}))[0], x));
  EXPECT_EQ(counter->find("count").buffers()[0].tensor.values<std::int64_t>()[0], 2);
  nn::ModulePtr boom = build("boom");
  boom->call({x});
  testing::expect_error([&] { boom->call({x}); }, ErrorKind::value_error, "boom");
  EXPECT_FALSE(build("dict")->call({x})[0].is_defined());
  testing::expect_error([&] { build("other"); }, ErrorKind::value_error, "child of the model");
}

}  // namespace
}  // namespace simmesh
